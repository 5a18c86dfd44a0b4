#!/usr/bin/env python3
"""Checks that no class below lib/ has more than 60 methods or 20 data members.

Such a class holds state that belongs to several classes. A method is each function that the class declares, overloads
and constructors too, but for deleted and defaulted ones. Constants and nested types are no members. Plain data, which
has no methods, may have as many members as it likes.

Classes that had more when this check came have ceilings of their own, which only go down: a class that has become
smaller than its ceiling fails until the ceiling is lowered, or removed.

  tools/check-classes.py [ROOT]      checks the tree at ROOT (default: the one that this script is in)
  tools/check-classes.py --list      prints the largest classes
  tools/check-classes.py --self-test proves on made-up classes that both are counted
"""

import pathlib
import re
import sys

MOST_METHODS = 60
MOST_MEMBERS = 20

# By file and class: the methods and data members that it may have.
CEILINGS = {
    "lib/engine/fault_desk.hpp FaultDesk": (60, 35),
    "lib/localize/localizer.hpp Localizer": (60, 23),
    "lib/repair/resilient.hpp Resilient": (60, 22),
    "lib/replay/journal.hpp Journal": (60, 27),
    "lib/session/head_link.hpp HeadLink": (60, 25),
}

NOT_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'|^[ \t]*#[^\n]*""",
                      re.DOTALL | re.MULTILINE)  # fmt: skip
CLASS = re.compile(r"\b(?:class|struct)\s+(?:\[\[[^\]]*\]\]\s*)?([A-Za-z_][\w:]*)\s*(?:final\s*)?(?::(?!:)[^;{()]*)?{")
NO_MEMBER = re.compile(r"^(using|typedef|friend|static_assert|enum|union|struct|class|template\s*<[^>]*>\s*(struct|class))\b")


def end_of_block(text, begin):
    """The place behind the brace that ends the block which begins here."""
    depth = 0
    for at in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


def without(text, opening, closing):
    """The text without what is inside these brackets, and without them."""
    kept, depth = [], 0
    for letter in text:
        if letter == opening:
            depth += 1
        elif letter == closing and depth:
            depth -= 1
        elif depth == 0:
            kept.append(letter)
    return "".join(kept)


def is_function(text):
    text = re.sub(r"\[\[.*?\]\]|\balignas\([^)]*\)", "", text)
    if re.search(r"\boperator\b", text):
        return True
    text = without(text.replace("->", "").replace(">=", "").replace("<=", ""), "<", ">")
    return "(" in re.split(r"=|{", text)[0]


def members_of(body):
    """The texts of the members of a class; blocks are empty there."""
    member, at = "", 0
    while at < len(body):
        letter = body[at]
        if letter == "{":
            at = end_of_block(body, at)
            # A block with a space before it is a function's, unless an initialiser is.
            is_body = is_function(member) and (member.endswith((" ", "\n")) and not member.rstrip().endswith("="))
            member += "{}"
            if is_body:
                yield member.strip()
                member = ""
            continue
        if letter == ";":
            yield member.strip()
            member = ""
        else:
            member += letter
            member = re.sub(r"\b(public|protected|private)\s*:$", "", member)
        at += 1


def classes_in(text):
    """Of each class: its name, and how many methods and data members it has."""
    text = NOT_CODE.sub(lambda match: '""' if match[0].startswith(('"', "R")) else "0" if match[0][0] == "'" else "", text)
    for match in CLASS.finditer(text):
        if re.search(r"\benum\s+$|<\s*$|,\s*$", text[: match.start()]):
            continue
        begin = match.end() - 1
        methods = members = 0
        for one in members_of(text[begin + 1 : end_of_block(text, begin) - 1]):
            if not one or NO_MEMBER.match(one):
                continue
            if is_function(one):
                methods += not re.search(r"=\s*(delete|default)$", one)
            elif not re.match(r"(inline\s+)?(static\s+)?(inline\s+)?constexpr\b", one):
                members += 1
        yield match[1], methods, members if methods else 0


def all_classes(root):
    for path in sorted((root / "lib").rglob("*")):
        if path.suffix in (".hpp", ".cpp"):
            for name, methods, members in classes_in(path.read_text(encoding="utf-8")):
                yield f"{path.relative_to(root)} {name}", methods, members


def problems_in(classes, ceilings):
    seen = set()
    for name, methods, members in classes:
        most_methods, most_members = ceilings.get(name, (MOST_METHODS, MOST_MEMBERS))
        seen.add(name)
        if methods > most_methods or members > most_members:
            yield (f"{name}: {methods} methods and {members} data members; at most {most_methods} and {most_members}. "
                   "Divide it by the state that its functions share")  # fmt: skip
        elif name in ceilings and (max(methods, MOST_METHODS), max(members, MOST_MEMBERS)) != ceilings[name]:
            yield f"{name}: {methods} methods and {members} data members: lower its ceiling in tools/check-classes.py"
    for name in ceilings.keys() - seen:
        yield f"{name}: there is no such class: remove its ceiling from tools/check-classes.py"


def self_test():
    text = """
    // class Comment { int a; };
    enum class Color { red, green };
    class Small : public Base<int, 3> {
     public:
      explicit Small(int a, std::string b = "{;") : a_(a), b_{std::move(b)} {}
      Small(const Small&) = delete;
      Small& operator=(const Small&) = default;
      ~Small() override;
      [[nodiscard]] bool is_good() const { return a_ > 0 && [&] { return true; }(); }
      template <class Run>
      std::optional<int> run(Run run);
      bool operator==(const Small&) const;
      static int count();

     private:
      struct Inner {
        int one = 0, more = 0;
        std::function<bool()> two;
      };
      enum class Kind { first, second };
      using Text = std::string;
      friend class Other;
      static constexpr int kMost = 3;
      int a_;
      std::string b_;
      std::function<void(MPI_Comm)> adopts_ = [](MPI_Comm) {};
      std::map<int, std::function<int(int)>> map_{};
      Inner inner_{.one = 1};
      mutable std::mutex mutex_;
    };
    """
    found = list(classes_in(text))
    assert found == [("Small", 6, 6), ("Inner", 0, 0)], found
    many = [("lib/a.hpp A", 61, 3), ("lib/a.hpp B", 60, 20), ("lib/a.hpp C", 3, 21)]
    assert len(list(problems_in(many, {}))) == 2
    assert not list(problems_in(many, {"lib/a.hpp A": (61, 20), "lib/a.hpp C": (60, 21)}))
    assert len(list(problems_in(many, {"lib/a.hpp A": (60, 20), "lib/a.hpp C": (60, 21)}))) == 1
    assert len(list(problems_in(many, {"lib/a.hpp A": (62, 20), "lib/a.hpp C": (60, 22)}))) == 2
    assert len(list(problems_in(many[1:2], {"lib/a.hpp B": (62, 20), "lib/a.hpp D": (62, 20)}))) == 2
    print("check-classes.py: counts methods and data members, and keeps ceilings")


def main():
    arguments = sys.argv[1:]
    if arguments == ["--self-test"]:
        return self_test()
    root = pathlib.Path(__file__).resolve().parent.parent
    if arguments and arguments != ["--list"]:
        root = pathlib.Path(arguments[0])
    classes = list(all_classes(root))
    if arguments == ["--list"]:
        for name, methods, members in sorted(classes, key=lambda one: (-one[1], -one[2]))[:30]:
            print(f"{methods:4} methods {members:3} data members  {name}")
        return None
    problems = list(problems_in(classes, CEILINGS))
    if problems:
        sys.exit("\n".join(problems))
    print(f"check-classes.py: {len(classes)} classes, none has more than it may")
    return None


if __name__ == "__main__":
    main()
