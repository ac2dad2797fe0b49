"""The program that `django_provider.py` runs: Django and django-oauth-toolkit as an OpenID provider, in one file.

    python django_server.py FOLDER [--issuer URL] [--grace SECONDS]

It keeps everything in FOLDER, listens on loopback, and prints its address.
"""

import argparse
import json
import os
import socket
import sys
from pathlib import Path

USERS = {"alice": "correct horse alice", "bob": "correct horse bob"}
LOGIN_PAGE = """<!DOCTYPE html><title>Log in</title><form method="post">{% csrf_token %}{{ form.as_p }}
<input type="hidden" name="next" value="{{ next }}"><button>Log in</button></form>"""


def configure(folder, issuer, grace):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    from django.conf import settings

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"
    settings.configure(
        SECRET_KEY="of a test", ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF=__name__, USE_TZ=True, LOGIN_URL="/login/",
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        INSTALLED_APPS=[
            "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "oauth2_provider"],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware"],
        DATABASES={"default": {
            "ENGINE": "django.db.backends.sqlite3", "NAME": folder / "provider.sqlite",
            "OPTIONS": {"init_command": "PRAGMA journal_mode=WAL", "transaction_mode": "IMMEDIATE"}}},
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        LOGGING={
            "version": 1, "handlers": {"console": {"class": "logging.StreamHandler"}},
            "loggers": {"django": {"handlers": ["console"], "level": "ERROR"}}},
        TEMPLATES=[{
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {
                "loaders": [
                    ("django.template.loaders.locmem.Loader", {"registration/login.html": LOGIN_PAGE}),
                    "django.template.loaders.app_directories.Loader"],
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth"]}}],
        OAUTH2_PROVIDER={
            "OIDC_ENABLED": True, "OIDC_RSA_PRIVATE_KEY": key.decode(), "OIDC_ISS_ENDPOINT": issuer,
            "OAUTH2_VALIDATOR_CLASS": f"{__name__}.Validator", "PKCE_REQUIRED": True,
            "SCOPES": {name: name for name in ("openid", "profile", "email", "offline_access")},
            "DEFAULT_SCOPES": ["openid"], "REQUEST_APPROVAL_PROMPT": "force",
            "ACCESS_TOKEN_EXPIRE_SECONDS": 300, "REFRESH_TOKEN_EXPIRE_SECONDS": 1209600,
            "ROTATE_REFRESH_TOKEN": True, "REFRESH_TOKEN_REUSE_PROTECTION": True,
            "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": grace,
            "OIDC_RP_INITIATED_LOGOUT_ENABLED": True, "OIDC_RP_INITIATED_LOGOUT_ALWAYS_PROMPT": False,
            "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
            "DCR_ENABLED": True,
            "DCR_REGISTRATION_PERMISSION_CLASSES": ("oauth2_provider.dcr.AllowAllDCRPermission",),
            "ALLOWED_REDIRECT_URI_SCHEMES": ["http", "https"], "ALLOWED_SCHEMES": ["http", "https"],
            "OAUTH_DEVICE_VERIFICATION_URI": f"{issuer}/device/", "DEVICE_FLOW_INTERVAL": 1,
        })


def fill():
    """Adds users and clients."""
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.db.models.signals import pre_save
    from oauth2_provider.models import get_application_model

    call_command("migrate", verbosity=0)
    for name, password in USERS.items():
        User.objects.create_user(name, f"{name}@example.test", password, first_name=name.title())
    Application = get_application_model()

    def choose_algorithm(sender, instance, **options):
        # A client that registers itself gets no algorithm, and then the scope "openid" is an internal error.
        instance.algorithm = instance.algorithm or "RS256"

    pre_save.connect(choose_algorithm, sender=Application, weak=False)
    Application.objects.create(
        client_id="vault-cli", name="Vault", client_type="public", authorization_grant_type="authorization-code",
        redirect_uris="http://127.0.0.1/callback", post_logout_redirect_uris="http://127.0.0.1/bye")
    Application.objects.create(
        client_id="key-service", name="Key service", client_type="confidential", client_secret="secret of the key service",
        authorization_grant_type="client-credentials")
    Application.objects.create(
        client_id="vault-device", name="Vault on a device", client_type="public",
        authorization_grant_type="urn:ietf:params:oauth:grant-type:device_code")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--issuer")
    parser.add_argument("--grace", type=int, default=0)
    options = parser.parse_args()

    # The port is bound first, because the issuer contains it.
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    sys.modules["django_server"] = sys.modules[__name__]
    issuer = options.issuer or address
    configure(options.folder, issuer, options.grace)

    import django
    django.setup()

    import waitress
    from django.contrib.auth.views import LoginView
    from django.core.wsgi import get_wsgi_application
    from django.http import JsonResponse
    from django.urls import include, path
    from oauth2_provider.oauth2_validators import OAuth2Validator
    from oauth2_provider.views import OAuthServerMetadataView

    class Validator(OAuth2Validator):
        oidc_claim_scope = None

        def get_additional_claims(self, request):
            user = request.user
            return {"name": user.first_name, "email": user.email, "preferred_username": user.username}

    class Metadata(OAuthServerMetadataView):
        def get(self, request, *arguments, **options):
            """Adds the device authorization endpoint, which the provider has but does not announce."""
            document = json.loads(super().get(request, *arguments, **options).content)
            return JsonResponse(document | {"device_authorization_endpoint": f"{issuer}/device-authorization/"})

    globals()["Validator"] = Validator
    globals()["urlpatterns"] = [
        path("login/", LoginView.as_view()),
        path(".well-known/oauth-authorization-server", Metadata.as_view()),
        path("", include("oauth2_provider.urls"))]
    fill()
    server = waitress.create_server(get_wsgi_application(), sockets=[listener], threads=4)
    print(f"Listening on {address}", flush=True)
    server.run()


if __name__ == "__main__":
    main()
