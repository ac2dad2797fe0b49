# When a new user types what the documents say, then the third command prints the first token.
. /project/Tests/machine/inside.sh

# The programs of the package come first.
export PATH=/usr/bin:/usr/sbin:/bin:/sbin:/usr/local/bin
echo "127.0.1.1 $(hostname)" >>/etc/hosts
start_services

# The signed settings of an organisation, as the document says.
. /root/services.env
cd /root
minisign -G -W -p minisign.pub -s minisign.key >/dev/null </dev/null
cat >vault.json <<SETTINGS
{"settings-key": "$(tail -1 minisign.pub)", "issuer": "$CREDENTIAL_VAULT_ISSUER",
 "client-id": "$CREDENTIAL_VAULT_CLIENT_ID", "key-service": "$CREDENTIAL_VAULT_KEY_SERVICE"}
SETTINGS
minisign -Sm vault.json -s minisign.key </dev/null

# A new user, who has downloaded the package: walk PERSON NAME
walk() {
    make_person "$1"
    echo "$1 ALL=(ALL) NOPASSWD: ALL" >"/etc/sudoers.d/$1"
    install -m 644 /packages/this/credential-vault_*.deb /root/vault.json{,.minisig} "/home/$1"
    at_the_desk "$1" <<<"cd; /usr/bin/python3 -B /project/Tests/machine/first_token.py '$2'"
    DEBIAN_FRONTEND=noninteractive apt-get --yes purge credential-vault >/dev/null
}
walk first 'with a key service'
walk second 'with the settings of an organisation'
walk third 'without a key service'
