# Prints the value of one key of the outermost object of a JSON text: a string without its quotes (the usual
# escapes undone), a number or word as it stands, an object or list as JSON. Usage: awk -v key=name -f json.awk
# With the key * it prints all strings of the outermost object, one a line.
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
                    if (c == "n") c = "\n"; else if (c == "t") c = "\t"
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
