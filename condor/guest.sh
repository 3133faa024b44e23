#!/bin/sh
# A guest of the tests: computes UNITS pieces of work, one after the other, and says so when it is done.
#
#   guest.sh ID UNITS [CHECKPOINT [BALLAST]]
#
# With CHECKPOINT it saves itself: after so many pieces it ends with status 85, by which HTCondor takes the file `state` and starts it again. A
# file that only this node has tells the test how often it was done, from which piece on it was ever begun, and when it was about to save itself. With
# BALLAST, a number of MiB, its checkpoints are that large.
id=$1 units=$2 every=${3:-0} mib=${4:-0}
mark=/home/guest/mark-$id
done=0
[ -s state ] && done=$(cat state)
echo "$done" >>"$mark.begun"
since=0
while [ "$done" -lt "$units" ]; do
    i=0
    while [ $i -lt 60000 ]; do i=$((i + 1)); done
    done=$((done + 1)) since=$((since + 1))
    echo "$done" >"$mark.at"
    if [ "$every" -gt 0 ]; then
        echo "$done" >state.new && mv state.new state
        if [ "$since" -ge "$every" ] && [ "$done" -lt "$units" ]; then
            [ "$mib" -gt 0 ] && head -c "${mib}M" /dev/zero >ballast
            echo "$done" >>"$mark.saving"
            exit 85
        fi
    fi
done
echo "$id" >>"$mark.done"
echo "guest $id: $done pieces"
