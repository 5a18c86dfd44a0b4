#include "torture/mpi/places.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "store/names.hpp"
#include "store/posix/posix_store.hpp"

namespace cairn::torture {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_below(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (it->is_regular_file(gone) && it->file_size(gone) > 0 && !gone) found.push_back(it->path());
  }
  std::ranges::sort(found);
  return found;
}

std::uintmax_t bytes_below(const fs::path& directory) {
  constexpr std::uintmax_t kPage = 4096;
  std::uintmax_t bytes = 0;
  for (const fs::path& file : files_below(directory)) bytes += (fs::file_size(file) / kPage + 1) * kPage;
  return bytes;
}

// Not by mapping it: that would be a signal if it is cut meanwhile.
bool flip_bit(const fs::path& file, std::uint64_t where) {
  const int opened = open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0) return false;
  std::error_code gone;
  const std::uintmax_t size = fs::file_size(file, gone);
  unsigned char byte = 0;
  const auto at = static_cast<off_t>(where / 8 % std::max<std::uintmax_t>(gone ? 1 : size, 1));
  bool flipped = pread(opened, &byte, 1, at) == 1;
  byte ^= static_cast<unsigned char>(1U << (where % 8));
  flipped = flipped && pwrite(opened, &byte, 1, at) == 1;
  close(opened);
  return flipped;
}

// Between file systems, too.
void move(const fs::path& from, const fs::path& to) {
  std::error_code elsewhere;
  fs::rename(from, to, elsewhere);
  if (!elsewhere) return;
  fs::copy(from, to, fs::copy_options::recursive);
  fs::permissions(to, fs::status(from).permissions());
  fs::remove_all(from);
}

}  // namespace

Places::Places() {
  for (const char* part : {"hosts", "local", "global"}) fs::create_directory(root_ / part);
}

fs::path Places::directory_of(Place place) const {
  return place ? root_ / "hosts" / std::to_string(*place) : root_ / "global";
}
fs::path Places::node_directory(std::size_t node) const {
  return root_ / "local" / names::node_directory(NodeId{static_cast<std::uint32_t>(node)});
}
fs::path Places::job_directory(const Life& life, Place place) const {
  if (!place) return global() / kJob;
  const auto node = node_of(life, *place);
  return node ? node_directory(*node) / kJob : fs::path();
}

bool Places::has(Place place) const { return !place || fs::exists(directory_of(place)); }

test::StoreImage Places::image(Place place) const {
  const auto store = PosixStore::open_existing(directory_of(place), kJob);
  return store ? test::image_of(**store) : test::StoreImage{};
}

void Places::put_back(Place place, const test::StoreImage& image) {
  lose(place);
  const auto store = PosixStore::open(directory_of(place), kJob);
  if (store) test::write_image(**store, image);
}

void Places::lose(Place place) {
  fs::remove_all(directory_of(place));
  fs::create_directory(directory_of(place));
}

bool Places::move_in(const Life& life) {
  std::uintmax_t bytes = 0;
  for (const std::uint32_t host : life.hosts) {
    if (!has(host)) fs::create_directory(directory_of(host));
    bytes += bytes_below(directory_of(host));
  }
  constexpr std::uintmax_t kKiB = 1024;
  if (life.outside.room_kib > 0) {
    small_ = std::make_unique<SmallFileSystem>(local(), bytes + life.outside.room_kib * kKiB);
    if (!small_->is_mounted()) small_.reset();
  }
  for (std::size_t node = 0; node < life.hosts.size(); ++node)
    move(directory_of(life.hosts[node]), node_directory(node));
  return life.outside.room_kib == 0 || small_ != nullptr;
}

void Places::move_out(const Life& life) {
  for (std::size_t node = 0; node < life.hosts.size(); ++node)
    move(node_directory(node), directory_of(life.hosts[node]));
  small_.reset();
}

bool Places::wipe(const Life& life, Place place) const {
  const fs::path job = job_directory(life, place);
  if (job.empty()) return false;
  std::error_code busy;
  fs::remove_all(job, busy);
  return true;
}

std::string Places::damage(const Life& life, Place place, std::uint64_t pick, bool remove) const {
  const fs::path job = job_directory(life, place);
  const std::vector<fs::path> files = job.empty() ? std::vector<fs::path>() : files_below(job);
  if (files.empty()) return {};
  const fs::path& file = files[pick % files.size()];
  std::error_code gone;
  const bool done = remove ? fs::remove(file, gone) : flip_bit(file, pick / files.size());
  return done ? file.lexically_relative(job).string() : std::string();
}

void Places::take_global_away() const {
  std::error_code none;
  fs::rename(global(), root_ / "away", none);
}

void Places::bring_global_back() const {
  std::error_code none;
  fs::remove_all(global(), none);
  fs::rename(root_ / "away", global(), none);
}

}  // namespace cairn::torture
