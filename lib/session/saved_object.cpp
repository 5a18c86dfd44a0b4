#include "session/saved_object.hpp"

#include <exception>
#include <istream>
#include <new>
#include <ostream>
#include <streambuf>
#include <string>

namespace cairn {
namespace {

// Appends to bytes.
class BytesOut final : public std::streambuf {
 public:
  explicit BytesOut(Buffer& bytes) : bytes_(bytes) {}

 protected:
  int_type overflow(int_type c) override {
    if (!traits_type::eq_int_type(c, traits_type::eof())) bytes_.push_back(static_cast<std::byte>(c));
    return traits_type::not_eof(c);
  }
  std::streamsize xsputn(const char* data, std::streamsize count) override {
    const auto* const begin = reinterpret_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), begin, begin + count);
    return count;
  }

 private:
  Buffer& bytes_;
};

class BytesIn final : public std::streambuf {
 public:
  explicit BytesIn(Buffer& bytes) {
    auto* const begin = reinterpret_cast<char*>(bytes.data());
    setg(begin, begin, begin + bytes.size());
  }

 protected:
  // For programs that look where they are.
  pos_type seekoff(off_type by, std::ios_base::seekdir from, std::ios_base::openmode /*which*/) override {
    const off_type size = egptr() - eback();
    const off_type base = from == std::ios_base::beg ? 0 : from == std::ios_base::cur ? gptr() - eback() : size;
    if (base + by < 0 || base + by > size) return pos_type(off_type(-1));
    setg(eback(), eback() + base + by, egptr());
    return pos_type(base + by);
  }
  pos_type seekpos(pos_type to, std::ios_base::openmode which) override {
    return seekoff(off_type(to), std::ios_base::beg, which);
  }
};

// An exception must not leave a snapshot or restore that other ranks take part in.
template <class Call>
Status without_exception(Code code, const char* function, Call call) {
  const auto failed = [&](const std::string& what) { return fail(code, std::string(function) + ": " + what); };
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return failed("the process is out of memory");
  } catch (const std::exception& error) {
    return failed(error.what());
  } catch (...) {
    return failed("it has thrown what is no std::exception");
  }
}

}  // namespace

Status SavedObject::save() {
  bytes_.clear();
  return without_exception(Code::io, "save()", [&]() -> Status {
    BytesOut buffer(bytes_);
    std::ostream out(&buffer);
    out.exceptions(std::ios_base::badbit);  // otherwise it keeps what an operator << throws to itself
    save_(out);
    if (out) return {};
    return fail(Code::io, "save() has left its stream in a failed state");
  });
}

Status SavedObject::load() {
  const Status loaded = without_exception(Code::mismatch, "load()", [&]() -> Status {
    BytesIn buffer(bytes_);
    std::istream in(&buffer);
    in.exceptions(std::ios_base::badbit);
    load_(in);
    if (!in.fail()) return {};
    return fail(
        Code::mismatch,
        in.eof() ? "load() has tried to read more than was saved" : "load() has left its stream in a failed state",
        "load() has to read what save() writes, or to clear() the stream");
  });
  free();
  return loaded;
}

}  // namespace cairn
