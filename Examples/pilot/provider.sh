# shellcheck shell=bash
# Glewlwyd, an OpenID provider from Debian, as https://login.example.com:4593/api/oidc. It has the user alice.
# start_provider FOLDER starts it, and sign_in URL plays alice in the browser. A pilot with your own provider needs
# none of this.
provider=https://login.example.com:4593

start_provider() {
    local folder=$1
    zcat /usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz | sqlite3 "$folder/glewlwyd.db" >"$folder/log"
    mkdir "$folder/pages"
    cat >"$folder/glewlwyd.conf" <<SETTINGS
port=4593
bind_address="10.20.0.13"
external_url="$provider"
login_url="login.html"
api_prefix="api"
static_files_path="$folder/pages/"
log_mode="file"
log_level="WARNING"
log_file="$folder/log"
cookie_secure=1
session_expiration=2419200
session_key="GLEWLWYD2_SESSION_ID"
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="/usr/lib/glewlwyd/user"
client_module_path="/usr/lib/glewlwyd/client"
user_auth_scheme_module_path="/usr/lib/glewlwyd/scheme"
plugin_module_path="/usr/lib/glewlwyd/plugin"
use_secure_connection=true
secure_connection_key_file="$folder/login.key"
secure_connection_pem_file="$folder/login.pem"
hash_algorithm="SHA512"
database = { type = "sqlite3"; path = "$folder/glewlwyd.db"; };
SETTINGS
    glewlwyd --config-file="$folder/glewlwyd.conf" </dev/null >>"$folder/log" 2>&1 &
    await 'Glewlwyd' curl -sSf -o /dev/null "$provider/config"

    # A signing key, as Glewlwyd wants it: in JSON texts.
    local private public
    private=$(openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256)
    public=$(openssl pkey -pubout <<<"$private")
    cookies=$folder/admin
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
    quietly_on "$1" "$(declare -f ask)"'
        provider='"$provider"' cookies=cookies
        ask POST auth/ '\''{"username": "alice", "password": "correct horse alice"}'\''
        ask PUT auth/grant/vault '\''{"scope": "openid profile email offline_access"}'\''
        curl -sSf -o /dev/null -L -b cookies '"'$2&g_continue'"
}
