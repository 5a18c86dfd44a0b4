// A program that was written for VELOC, with its calls in C++.
//
//   veloc_client two CFG: ranks of an MPI job, which delete the client at the end
//   veloc_client one CFG: one process, which knows no MPI and ends nothing
#include <cstdint>
#include <iostream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <veloc.hpp>

namespace {

void check(bool good, const char* what) {
  if (!good) throw std::runtime_error(what);
}
#define CHECK(what) check((what), #what)

template <class Container>
std::function<void(std::ostream&)> writer(const Container& container) {
  return [&container](std::ostream& out) {
    const std::uint64_t size = container.size();
    out.write(reinterpret_cast<const char*>(&size), sizeof size);
    for (const auto& each : container) out.write(reinterpret_cast<const char*>(&each), sizeof each);
  };
}

template <class Element, class Container>
std::function<bool(std::istream&)> reader(Container& container) {
  return [&container](std::istream& in) {
    std::uint64_t size = 0;
    in.read(reinterpret_cast<char*>(&size), sizeof size);
    container.clear();
    for (std::uint64_t i = 0; in && i < size; ++i) {
      Element each{};
      in.read(reinterpret_cast<char*>(&each), sizeof each);
      container.insert(container.end(), each);
    }
    return static_cast<bool>(in);
  };
}

// What each rank has differs in size, too.
void try_out(veloc::client_t& client, int rank) {
  int number = rank;
  std::map<int, int> map{{rank, 2}};
  std::set<int> set;
  for (int i = 0; i <= rank; ++i) set.insert(i);
  std::vector<std::string> seen;
  CHECK(client.register_observer(VELOC_OBSERVE_CKPT_END, [&](const std::string& name, int version) {
    seen.push_back(name + std::to_string(version));
  }));
  CHECK(!client.register_observer(5, {}));
  CHECK(client.mem_protect(0, &number, 1, sizeof number, "one"));
  CHECK(client.mem_protect(1, writer(set), reader<int>(set), "one"));
  CHECK(client.mem_protect(2, writer(map), reader<std::pair<int, int>>(map), "two"));
  CHECK(client.mem_protect(2, writer(map), reader<std::pair<int, int>>(map), "two"));
  CHECK(client.checkpoint("one", 0));
  CHECK(client.checkpoint("two", 0));
  CHECK((seen == std::vector<std::string>{"one0", "two0"}));

  number = -1;
  map.clear();
  set = {99};
  CHECK(client.checkpoint_wait());
  CHECK(client.checkpoint_finished() && client.backend_ready());
  CHECK(client.restart_test("one", 0) == 0);
  CHECK(client.restart("one", 0));
  CHECK(client.restart("two", 0));
  CHECK(number == rank && map.at(rank) == 2 && set.size() == static_cast<std::size_t>(rank) + 1);
  CHECK(!client.restart("two", 0, 1));  // of another rank
  CHECK(client.restart_test("two", 0, 0) == VELOC_FAILURE);

  // One that cannot read what is there.
  CHECK(client.mem_protect(
      2, writer(map), [](std::istream&) { return false; }, "two"));
  CHECK(client.restart_begin("two", 0));
  CHECK(client.recover_size(2) == sizeof(std::uint64_t) + 2 * sizeof(int));
  CHECK(!client.recover_mem(VELOC_RECOVER_ALL, {}));
  CHECK(client.restart_end(true));
  // And one that cannot write: no rank has this checkpoint.
  CHECK(client.mem_protect(
      2,
      [rank](std::ostream&) {
        if (rank == 0) throw std::runtime_error("nothing to write");
      },
      reader<std::pair<int, int>>(map), "two"));
  CHECK(!client.checkpoint("two", 1));
  CHECK(client.restart_test("two", 0) == 0);
  client.mem_clear("two");
  CHECK(!client.mem_unprotect(2, "two"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  try {
    if (std::string(argv[1]) == "one") {
      try_out(*veloc::get_client(7U, argv[2]), 0);
    } else {
      int rank = 0;
      MPI_Init(&argc, &argv);
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      veloc::client_t* const client = veloc::get_client(MPI_COMM_WORLD, argv[2]);
      CHECK(client == veloc::get_client(MPI_COMM_WORLD, argv[2]));
      try_out(*client, rank);
      delete client;
      MPI_Finalize();
      if (rank != 0) return 0;
    }
  } catch (const std::exception& error) {
    std::cerr << "not true: " << error.what() << std::endl;
    return 1;
  }
  std::cout << "done" << std::endl;
  return 0;
}
