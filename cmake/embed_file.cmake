# Writes a source file that holds another file's bytes. Run at build time, by holdfast_embed():
#
#     cmake -D input=page.html -D output=page_html.cc -D namespace=holdfast::web -D name=page_html
#         -P embed_file.cmake

file(READ ${input} bytes HEX)
string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
string(REPLACE "'\\x0a'," "'\\x0a',\n" bytes "${bytes}")  # a line for a line
file(WRITE ${output} "#include <string_view>

namespace ${namespace} {

std::string_view ${name}();

std::string_view ${name}() {
    static constexpr char bytes[] = {
${bytes}};
    return {bytes, sizeof bytes};
}

}  // namespace ${namespace}
")
