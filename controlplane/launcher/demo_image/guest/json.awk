# Prints the value of one key of the outermost object of a JSON text: a string without its quotes (the usual
# escapes undone), a number or word as it stands, an object or list as JSON. Usage: awk -v key=name -f json.awk
# Characters that are not ASCII are printed in UTF-8. With the key * it prints all strings of the outermost object, one
# a line.
function hexadecimal(digits,    j, number) {
    digits = tolower(digits)
    for (j = 1; j <= length(digits); j++) number = number * 16 + index("0123456789abcdef", substr(digits, j, 1)) - 1
    return number
}
function utf8(code) {
    if (code < 128) return sprintf("%c", code)
    if (code < 2048) return sprintf("%c", 192 + int(code / 64)) tail(code)
    if (code < 65536) return sprintf("%c", 224 + int(code / 4096)) tail(int(code / 64)) tail(code)
    return sprintf("%c", 240 + int(code / 262144)) tail(int(code / 4096)) tail(int(code / 64)) tail(code)
}
function tail(code) { return sprintf("%c", 128 + code % 64) }
# The character whose escape is at i, which is left at its last digit. Beyond 16 bits there are two of them.
function escaped(    code) {
    code = hexadecimal(substr(text, i + 1, 4)); i += 4
    if (code >= 55296 && code < 56320 && substr(text, i + 1, 2) == "\\u") {
        code = 65536 + (code - 55296) * 1024 + hexadecimal(substr(text, i + 3, 4)) - 56320; i += 6
    }
    return utf8(code)
}
{ text = text $0 "\n" }
END {
    depth = 0; found = 0; name = ""; start = 0
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "\"") {
            begin = i; word = ""
            while (++i <= length(text) && (c = substr(text, i, 1)) != "\"") {
                if (c == "\\") {
                    c = substr(text, ++i, 1)
                    if (c == "n") c = "\n"
                    else if (c == "t") c = "\t"
                    else if (c == "u") c = escaped()
                }
                word = word c
            }
            if (depth == 1 && !start) name = word
            else if (depth == 1 && key == "*") print word
            else if (depth == 1 && name == key) { print word; exit }
        } else if (c == "{" || c == "[") {
            if (++depth == 2 && name == key) begin_value = i
        } else if (c == "}" || c == "]") {
            if (depth-- == 2 && name == key && start) { print substr(text, begin_value, i - begin_value + 1); exit }
            if (depth == 0 && name == key && start) { print plain; exit }
        } else if (c == ":" && depth == 1) { start = 1; plain = "" }
        else if (c == "," && depth == 1) {
            if (name == key && start) { print plain; exit }
            start = 0
        } else if (depth == 1 && start && c !~ /[ \t\n]/) plain = plain c
    }
}
