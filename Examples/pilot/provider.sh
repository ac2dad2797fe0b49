# shellcheck shell=bash
# Glewlwyd, an OpenID provider from Debian, as https://login.example.com:4593/api/oidc. It has the user alice.
# start_provider starts it on the machine login, and sign_in plays alice in the browser of a desk. A pilot with your own
# provider needs none of this.
provider=https://login.example.com:4593

start_provider() {
    local folder=/srv/login/etc/glewlwyd
    sed -i -e "s|^external_url *=.*|external_url=\"$provider\"|" \
        -e 's|^use_secure_connection *=.*|use_secure_connection=true|' -e 's|^cookie_secure *=.*|cookie_secure=1|' \
        -e '/^secure_connection_ca_file/d' \
        "$folder/glewlwyd.conf"
    inside login install -o glewlwyd -m 600 /home/alice/login.key /etc/glewlwyd/cert.key
    inside login install -m 644 /home/alice/login.pem /etc/glewlwyd/cert.pem
    inside login systemctl start glewlwyd
    await 'Glewlwyd' quietly_on login "curl -sSf -o /dev/null $provider/config"
    quietly_on login "provider=$provider; $(declare -f ask configure_provider); configure_provider"
}

# Types on the machine login what an administrator of Glewlwyd types in the browser.
configure_provider() {
    local cookies=admin
    # A signing key, as Glewlwyd wants it: in JSON texts.
    local private public
    private=$(openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256)
    public=$(openssl pkey -pubout <<<"$private")
    ask POST auth/ '{"username": "admin", "password": "password"}'
    ask POST mod/plugin/ '{"module": "oidc", "name": "oidc", "display_name": "oidc", "enabled": true, "parameters": {
        "iss": "'"$provider"'/api/oidc", "key": "'"${private//$'\n'/\\n}"'", "cert": "'"${public//$'\n'/\\n}"'",
        "jwt-type": "ecdsa", "jwt-key-size": "256", "jwks-show": true, "subject-type": "public",
        "access-token-duration": 3600, "refresh-token-duration": 1209600, "code-duration": 60,
        "refresh-token-rolling": true, "refresh-token-one-use": "always",
        "auth-type-code-enabled": true, "auth-type-code-revoke-replayed": true, "auth-type-refresh-enabled": true,
        "auth-type-id-token-enabled": true, "auth-type-none-enabled": true, "allow-non-oidc": true,
        "auth-type-token-enabled": false, "auth-type-password-enabled": false, "auth-type-client-enabled": false,
        "auth-type-device-enabled": false, "name-claim": "mandatory", "email-claim": "mandatory", "scope-claim": "no",
        "allowed-scope": ["openid", "profile", "email", "offline_access"],
        "pkce-allowed": true, "pkce-required": false, "pkce-required-public-client": true,
        "pkce-method-plain-allowed": false}}'
    local scope
    for scope in profile email offline_access; do
        ask POST scope/ '{"name": "'$scope'", "display_name": "'$scope'", "description": "'$scope'",
            "password_required": false}'
    done
    ask POST user/ '{"username": "alice", "name": "Alice", "email": "alice@example.com", "enabled": true,
        "password": "correct horse alice", "scope": ["g_profile", "openid", "profile", "email", "offline_access"]}'
    ask POST client/ '{"client_id": "vault", "name": "vault", "confidential": false, "enabled": true, "scope": [],
        "authorization_type": ["code", "refresh_token", "delete_token"],
        "redirect_uri": ["http://127.0.0.1:8765/callback"], "token_endpoint_auth_method": ["none"]}'
}

# Calls the provider's API with the session in $cookies: ask METHOD PATH JSON
ask() {
    curl -sSf -o /dev/null -b "$cookies" -c "$cookies" -X "$1" -H 'Content-Type: application/json' -d "$3" \
        "$provider/api/$2"
}

# What alice does in the browser of a desk. She logs in, agrees, and gets to the page of vault, which answers only
# programs of the same user: sign_in MACHINE URL
sign_in() {
    quietly_on "$1" "provider=$provider cookies=cookies; $(declare -f ask)"'
        ask POST auth/ '\''{"username": "alice", "password": "correct horse alice"}'\''
        ask PUT auth/grant/vault '\''{"scope": "openid profile email offline_access"}'\''
        curl -sSf -o /dev/null -L -b cookies '"'$2&g_continue'"
}
