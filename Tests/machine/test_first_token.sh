# When a new user types what the documents say, then the third command prints the first token.
. /project/Tests/machine/inside.sh

# The programs of the packages come first.
export PATH=/usr/bin:/usr/sbin:/bin:/sbin:/usr/local/bin
echo "127.0.1.1 $(hostname)
127.0.0.1 keys.example.com" >>/etc/hosts
start_services
. /root/services.env
mkdir /root/files
cd /root/files

# The signed settings of an organisation, as the document says.
minisign -G -W -p minisign.pub -s ../minisign.key >/dev/null </dev/null
cat >vault.json <<SETTINGS
{"settings-key": "$(tail -1 minisign.pub)", "issuer": "$CREDENTIAL_VAULT_ISSUER",
 "client-id": "$CREDENTIAL_VAULT_CLIENT_ID", "key-service": "$CREDENTIAL_VAULT_KEY_SERVICE"}
SETTINGS
minisign -Sm vault.json -s ../minisign.key </dev/null

# What an operator writes for TLS, as the handbook says.
openssl req -x509 -config <(printf '[req]\ndistinguished_name=name\n[name]\n') -subj /CN=keys.example.com \
    -addext subjectAltName=DNS:keys.example.com -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
    -keyout tls.key -out tls.pem 2>/dev/null
handbook=/project/Sources/KeyServiceServer/KeyServiceServer.docc/KeyServiceTLS.md
tls=$(sed -n '/^  "tlsCertificate"/,/^}/p' "$handbook")
sed 's|"listen": .*|"listen": "0.0.0.0:8787",|; /^}/d' /project/Sources/Packaging/vault-key-service.json \
    >vault-key-service.json
echo "$tls" >>vault-key-service.json
sed -n '/^\[Service\]$/,/^```$/p' "$handbook" | sed '$d' >tls.conf

# A person who has the files above, and the packages: walk PERSON NAME
walk() {
    make_person "$1"
    echo "$1 ALL=(ALL) NOPASSWD: ALL" >"/etc/sudoers.d/$1"
    install -m 644 -o "$1" /root/files/* "/home/$1"
    ln -s /packages/this/credential-vault{,-key-service}_*.deb "/home/$1"
    at_the_desk "$1" <<<"cd; /usr/bin/python3 -B /project/Tests/machine/first_token.py '$2'"
    # The next person begins without the package.
    dpkg --purge credential-vault >/dev/null 2>&1
}
walk first 'a person with a key service'
walk second 'a person with the settings of an organisation'
walk third 'a person without a key service'
walk fourth 'an operator'
echo 'export CREDENTIAL_VAULT_KEY_SERVICE=https://keys.example.com:8787' >>/etc/services.env
walk fifth 'the first person of that operator'
