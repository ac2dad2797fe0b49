# When a person types the commands of a document, then they see what the document shows: document.sh DOCUMENT
. /project/Tests/machine/inside.sh

make_person alice
# alice administers the machine.
echo 'alice ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/alice
echo "127.0.1.1 $(hostname)" >>/etc/hosts
start_services
# The folder of the repository that the documents use. A person can write it.
install -d -o alice -g alice /home/alice/Sources
cp -r /project/Sources/Packaging /home/alice/Sources/
chown -R alice: /home/alice/Sources
# Links the packages, if the document installs one, and starts the database, if the document uses it.
for package in /packages/this/*.deb; do
    if [[ -e $package ]]; then ln -s "$package" /home/alice/; fi
done
if grep -q 'sudo -u postgres' "/project/$1"; then systemctl start postgresql; fi
at_the_desk alice <<<"cd; /usr/bin/python3 -B /project/Tests/machine/document.py '$1'"
