# Doxygen reads a header through this: sed -E -f doxygen.sed HEADER. Makes the plain comments of Cairn's headers comments
# that Doxygen reads: those before a declaration, those behind one, and that at the top, which is about the file.
1s,^//( .*)$,/// \\file\n///\1,
1s,^/\*( .*)$,/** \\file\n *\1,
s,^( *)//( |$),\1///\2,
# Behind a declaration, in C++ and in C; not behind a brace that ends a namespace, nor in a comment.
/^}|^struct |^ *(\/|\*)/!s,([^ /*].*)  // ,\1  ///< ,
s,^( *)/\*( .*|)$,\1/**\2,
s,^( *[^ /*].*[^ ] +)/\* (.*)\*/$,\1/**< \2*/,
