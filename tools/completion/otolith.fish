# fish completion of otolith: asks candidates.sh, which stands in share/otolith/completion or beside this file.
set -g __otolith_candidates (status dirname)/../../otolith/completion/candidates.sh
test -e (status dirname)/candidates.sh; and set -g __otolith_candidates (status dirname)/candidates.sh

function __otolith_complete
    set -l current (commandline -ct)
    for line in (sh $__otolith_candidates (commandline -opc) "$current")
        if test "$line" = //files
            __fish_complete_path (string replace -r '.*=' '' -- "$current")
        else
            echo $line
        end
    end
end

complete -c otolith -f -a '(__otolith_complete)'
