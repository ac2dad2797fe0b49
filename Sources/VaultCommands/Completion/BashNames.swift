/// The part of bash's completion script that offers names with a slash as a whole.
enum BashNames {
    /// Replaces the function of the generated script that adds suggestions, and adds to its end the mode for names.
    static let script = #"""

        # bash treats suggestions as files: it lists only the part after the last slash, and puts a slash after the name
        # of a folder. Names of items are no files. Only for files does bash insert quotes, so a name that needs quotes
        # is treated otherwise only in a list.
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
