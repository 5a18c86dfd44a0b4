// The C API: labels and attributes.
#include <cstdint>

#include <cairn/cairn.h>

#include "bind/c_session.hpp"

namespace {

template <class Value>
int set_attribute(const cairn_session* session, const char* region, const char* name, const Value& value) {
  using namespace cairn::bind;
  return with(session, [&](cairn::Session& open) {
    if (region == nullptr)
      open.attribute(text_or_empty(name), value);
    else
      open.attribute(std::string(region), text_or_empty(name), value);
    return CAIRN_OK;
  });
}

}  // namespace

int cairn_label(cairn_session* session, const char* label) {
  return cairn::bind::with(session, [&](cairn::Session& open) {
    open.label(cairn::bind::text_or_empty(label));
    return CAIRN_OK;
  });
}

int cairn_pin(cairn_session* session) {
  return cairn::bind::with(session, [](cairn::Session& open) {
    open.pin();
    return CAIRN_OK;
  });
}

int cairn_attribute_number(cairn_session* session, const char* region, const char* name, double value) {
  return set_attribute(session, region, name, value);
}

int cairn_attribute_whole(cairn_session* session, const char* region, const char* name, int64_t value) {
  return set_attribute(session, region, name, value);
}

int cairn_attribute_text(cairn_session* session, const char* region, const char* name, const char* text) {
  return set_attribute(session, region, name, cairn::bind::text_or_empty(text));
}

int cairn_restore_label(cairn_session* session, const char* label) {
  return cairn::bind::with(session, [&](cairn::Session& open) {
    open.restore(cairn::Label{cairn::bind::text_or_empty(label)});
    return CAIRN_OK;
  });
}

const char* cairn_restored_label(const cairn_session* session) {
  if (session == nullptr || session->open() == nullptr) return "";
  return session->open()->last_restore().label.c_str();
}
