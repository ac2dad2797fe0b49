/// The part of bash's completion script that offers names with a slash as a whole.
enum BashNames {
    /// Stands after the generated script, and replaces its function that adds suggestions. The end of the new function
    /// is about names.
    static let script = #"""

        # bash treats suggestions as files: it lists only the part after the last slash, and puts a slash after the name
        # of a folder. Names of items are no files. But bash inserts quotes only for files. So a name that needs quotes
        # is treated as a file, except in a list.
        __vault_add_completions() {
            local completion
            while IFS='' read -r completion; do
                COMPREPLY+=("${completion}")
            done < <(IFS=$'\n' compgen "${@}" -- "${cur}")
            local IFS=/
            if [[ "${1}" != -f && ( "${COMP_TYPE}" -eq 63 && "${#COMPREPLY[@]}" -gt 1
                || "${COMPREPLY[*]}" != *[![:alnum:]/._+-]* ) ]]
            then
                compopt +o filenames
            fi
        }
        """#
}
