/// The OpenAPI 3.1 document of the protocol's version 2.
enum OpenAPIDocument {
    static let text = """
        {
          "openapi": "3.1.0",
          "info": {
            "title": "Credential Vault key service",
            "version": "2",
            "description": "The oblivious protocol: the service learns neither the secret nor the result. Times are seconds since 1970."
          },
          "servers": [{"url": "."}],
          "paths": {
            "/keys": {
              "post": {
                "operationId": "create",
                "summary": "Makes a key and evaluates its first try.",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Create"}}}
                },
                "responses": {
                  "200": {
                    "description": "Done.",
                    "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Created"}}}
                  },
                  "400": {"$ref": "#/components/responses/400"},
                  "409": {"$ref": "#/components/responses/409"},
                  "413": {"$ref": "#/components/responses/413"},
                  "415": {"$ref": "#/components/responses/415"},
                  "422": {"$ref": "#/components/responses/422"},
                  "500": {"$ref": "#/components/responses/500"},
                  "503": {"$ref": "#/components/responses/503"}
                },
                "security": []
              }
            },
            "/keys/{id}/evaluate": {
              "parameters": [
                {
                  "name": "id",
                  "in": "path",
                  "required": true,
                  "description": "The id of the key: a lower-case UUID.",
                  "schema": {"$ref": "#/components/schemas/KeyID"}
                }
              ],
              "post": {
                "operationId": "evaluate",
                "summary": "Evaluates one try. The same element again is the same try.",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Evaluate"}}}
                },
                "responses": {
                  "200": {
                    "description": "Done.",
                    "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Evaluated"}}}
                  },
                  "400": {"$ref": "#/components/responses/400"},
                  "401": {"$ref": "#/components/responses/401"},
                  "403": {"$ref": "#/components/responses/403"},
                  "409": {"$ref": "#/components/responses/409"},
                  "410": {"$ref": "#/components/responses/410"},
                  "413": {"$ref": "#/components/responses/413"},
                  "415": {"$ref": "#/components/responses/415"},
                  "422": {"$ref": "#/components/responses/422"},
                  "500": {"$ref": "#/components/responses/500"},
                  "503": {"$ref": "#/components/responses/503"}
                },
                "security": [{"CV2": []}]
              }
            },
            "/keys/{id}/confirm": {
              "parameters": [
                {
                  "name": "id",
                  "in": "path",
                  "required": true,
                  "description": "The id of the key: a lower-case UUID.",
                  "schema": {"$ref": "#/components/schemas/KeyID"}
                }
              ],
              "post": {
                "operationId": "confirm",
                "summary": "Takes tries back whose secret was right. The first confirm makes the key live.",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Confirm"}}}
                },
                "responses": {
                  "200": {
                    "description": "Done.",
                    "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
                    "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false}}}
                  },
                  "400": {"$ref": "#/components/responses/400"},
                  "401": {"$ref": "#/components/responses/401"},
                  "409": {"$ref": "#/components/responses/409"},
                  "410": {"$ref": "#/components/responses/410"},
                  "413": {"$ref": "#/components/responses/413"},
                  "415": {"$ref": "#/components/responses/415"},
                  "500": {"$ref": "#/components/responses/500"},
                  "503": {"$ref": "#/components/responses/503"}
                },
                "security": []
              }
            },
            "/keys/{id}/end": {
              "parameters": [
                {
                  "name": "id",
                  "in": "path",
                  "required": true,
                  "description": "The id of the key: a lower-case UUID.",
                  "schema": {"$ref": "#/components/schemas/KeyID"}
                }
              ],
              "post": {
                "operationId": "end",
                "summary": "Ends the key for good. A key that is gone already is no error.",
                "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/End"}}}},
                "responses": {
                  "200": {
                    "description": "Done.",
                    "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
                    "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false}}}
                  },
                  "400": {"$ref": "#/components/responses/400"},
                  "401": {"$ref": "#/components/responses/401"},
                  "413": {"$ref": "#/components/responses/413"},
                  "415": {"$ref": "#/components/responses/415"},
                  "500": {"$ref": "#/components/responses/500"},
                  "503": {"$ref": "#/components/responses/503"}
                },
                "security": []
              }
            },
            "/keys/{id}/claim": {
              "parameters": [
                {
                  "name": "id",
                  "in": "path",
                  "required": true,
                  "description": "The id of the key: a lower-case UUID.",
                  "schema": {"$ref": "#/components/schemas/KeyID"}
                }
              ],
              "post": {
                "operationId": "claim",
                "summary": "Puts the key on its owner's list of devices. The key keeps its first owner. If GET at the base path answers claim_within, a new key ends after so many seconds without a claim.",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Claim"}}}
                },
                "responses": {
                  "200": {
                    "description": "Done.",
                    "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
                    "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false}}}
                  },
                  "400": {"$ref": "#/components/responses/400"},
                  "401": {"$ref": "#/components/responses/401Bearer"},
                  "404": {"$ref": "#/components/responses/404"},
                  "409": {"$ref": "#/components/responses/409"},
                  "410": {"$ref": "#/components/responses/410"},
                  "413": {"$ref": "#/components/responses/413"},
                  "415": {"$ref": "#/components/responses/415"},
                  "500": {"$ref": "#/components/responses/500"},
                  "503": {"$ref": "#/components/responses/503"}
                },
                "security": [{"Bearer": []}]
              }
            },
            "/devices": {
              "post": {
                "operationId": "devices",
                "summary": "Lists the owner's live keys, the oldest first.",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {"schema": {"type": "object"}}}
                },
                "responses": {
                  "200": {
                    "description": "Done.",
                    "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Devices"}}}
                  },
                  "400": {"$ref": "#/components/responses/400"},
                  "401": {"$ref": "#/components/responses/401Bearer"},
                  "404": {"$ref": "#/components/responses/404"},
                  "413": {"$ref": "#/components/responses/413"},
                  "415": {"$ref": "#/components/responses/415"},
                  "500": {"$ref": "#/components/responses/500"},
                  "503": {"$ref": "#/components/responses/503"}
                },
                "security": [{"Bearer": []}]
              }
            },
            "/devices/{id}/revoke": {
              "parameters": [
                {
                  "name": "id",
                  "in": "path",
                  "required": true,
                  "description": "The id of the key: a lower-case UUID.",
                  "schema": {"$ref": "#/components/schemas/KeyID"}
                }
              ],
              "post": {
                "operationId": "revoke",
                "summary": "Ends one of the owner's keys for good.",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {"schema": {"type": "object"}}}
                },
                "responses": {
                  "200": {
                    "description": "Done.",
                    "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
                    "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false}}}
                  },
                  "400": {"$ref": "#/components/responses/400"},
                  "401": {"$ref": "#/components/responses/401Bearer"},
                  "404": {"$ref": "#/components/responses/404"},
                  "413": {"$ref": "#/components/responses/413"},
                  "415": {"$ref": "#/components/responses/415"},
                  "500": {"$ref": "#/components/responses/500"},
                  "503": {"$ref": "#/components/responses/503"}
                },
                "security": [{"Bearer": []}]
              }
            },
            "/devices/{id}/rename": {
              "parameters": [
                {
                  "name": "id",
                  "in": "path",
                  "required": true,
                  "description": "The id of the key: a lower-case UUID.",
                  "schema": {"$ref": "#/components/schemas/KeyID"}
                }
              ],
              "post": {
                "operationId": "rename",
                "summary": "Gives one of the owner's keys another label.",
                "requestBody": {
                  "required": true,
                  "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Rename"}}}
                },
                "responses": {
                  "200": {
                    "description": "Done.",
                    "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
                    "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false}}}
                  },
                  "400": {"$ref": "#/components/responses/400"},
                  "401": {"$ref": "#/components/responses/401Bearer"},
                  "404": {"$ref": "#/components/responses/404"},
                  "413": {"$ref": "#/components/responses/413"},
                  "415": {"$ref": "#/components/responses/415"},
                  "500": {"$ref": "#/components/responses/500"},
                  "503": {"$ref": "#/components/responses/503"}
                },
                "security": [{"Bearer": []}]
              }
            }
          },
          "components": {
            "headers": {"NoStore": {"schema": {"type": "string", "const": "no-store"}}},
            "responses": {
              "400": {
                "description": "The request is not well formed.",
                "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
              },
              "401": {
                "description": "The key is unknown, or the request is not authenticated by it (unauthorized). Or the client's clock is off (clock).",
                "headers": {
                  "Cache-Control": {"$ref": "#/components/headers/NoStore"},
                  "WWW-Authenticate": {"schema": {"type": "string", "const": "CV2"}}
                },
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
              },
              "401Bearer": {
                "description": "The access token is not accepted (invalid_token). Or the key is unknown, or the signature is wrong (unauthorized).",
                "headers": {
                  "Cache-Control": {"$ref": "#/components/headers/NoStore"},
                  "WWW-Authenticate": {"schema": {"type": "string", "enum": ["CV2", "Bearer error=\\"invalid_token\\""]}}
                },
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
              },
              "403": {
                "description": "No guesses are left.",
                "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
              },
              "404": {
                "description": "The owner has no such live key (no_such_device), or the service keeps no lists (no_such_path).",
                "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
              },
              "409": {
                "description": "Another key has the id (exists), the key has another confirm key or owner (conflict), or the key was not confirmed yet (unfinished).",
                "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
              },
              "410": {
                "description": "The key is gone for good: ended, revoked or destroyed.",
                "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
              },
              "413": {
                "description": "The body is too large.",
                "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
              },
              "415": {
                "description": "The body is not JSON.",
                "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
              },
              "422": {
                "description": "The blinded element is invalid.",
                "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
              },
              "500": {
                "description": "The service failed.",
                "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
              },
              "503": {
                "description": "Too much work is waiting: try again after Retry-After.",
                "headers": {
                  "Cache-Control": {"$ref": "#/components/headers/NoStore"},
                  "Retry-After": {"description": "Seconds.", "schema": {"type": "integer", "minimum": 1}}
                },
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
              }
            },
            "securitySchemes": {
              "Bearer": {
                "type": "http",
                "scheme": "bearer",
                "description": "An access token of an identity provider that the service trusts (RFC 6750). A token that is bound to a key is refused."
              },
              "CV2": {
                "type": "apiKey",
                "in": "header",
                "name": "Authorization",
                "description": "CV2 SECONDS.MAC. MAC: the first 32 bytes of HMAC-SHA-512 under the request key, over credential-vault/v2/evaluate, 0x00, the id, SECONDS, 0x00 and SHA-512 of the body; base64url."
              }
            },
            "schemas": {
              "KeyID": {"type": "string", "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
              "Key": {
                "type": "string",
                "description": "A key: base64url without padding, 32 bytes.",
                "pattern": "^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$"
              },
              "PublicKey": {
                "type": "string",
                "description": "An Ed25519 public key: base64url without padding, 32 bytes.",
                "pattern": "^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$"
              },
              "Element": {
                "type": "string",
                "description": "An element of ristretto255 (RFC 9496), except the identity: base64url without padding, 32 bytes.",
                "pattern": "^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$"
              },
              "Ticket": {
                "type": "string",
                "description": "The name of a try: base64url without padding, 16 bytes.",
                "pattern": "^[A-Za-z0-9_-]{21}[AQgw]$"
              },
              "Signature": {
                "type": "string",
                "description": "An Ed25519 signature: base64url without padding, 64 bytes.",
                "pattern": "^[A-Za-z0-9_-]{85}[AQgw]$"
              },
              "Create": {
                "type": "object",
                "required": ["id", "request_key", "end_key", "blinded"],
                "properties": {
                  "id": {"$ref": "#/components/schemas/KeyID"},
                  "request_key": {"$ref": "#/components/schemas/Key"},
                  "end_key": {"$ref": "#/components/schemas/PublicKey"},
                  "blinded": {"$ref": "#/components/schemas/Element"},
                  "label": {"$ref": "#/components/schemas/Label"}
                }
              },
              "Created": {
                "type": "object",
                "required": ["evaluated", "ticket"],
                "properties": {
                  "evaluated": {"$ref": "#/components/schemas/Element"},
                  "ticket": {"$ref": "#/components/schemas/Ticket"},
                  "claim_within": {"type": "integer", "minimum": 1, "description": "Without a claim, the key ends after so many seconds. The signature covers it."},
                  "signature": {"$ref": "#/components/schemas/Signature"},
                  "identity": {"$ref": "#/components/schemas/Identity"}
                },
                "additionalProperties": false
              },
              "Identity": {
                "type": "object",
                "description": "The public key that makes the signature, and the earlier keys, the oldest first. Each key of the chain signed the next one.",
                "required": ["key"],
                "properties": {
                  "key": {"$ref": "#/components/schemas/Key"},
                  "chain": {
                    "type": "array",
                    "maxItems": 32,
                    "items": {
                      "type": "object",
                      "required": ["key", "signature"],
                      "properties": {
                        "key": {"$ref": "#/components/schemas/Key"},
                        "signature": {"$ref": "#/components/schemas/Signature"}
                      },
                      "additionalProperties": false
                    }
                  }
                },
                "additionalProperties": false
              },
              "Evaluate": {
                "type": "object",
                "required": ["blinded"],
                "properties": {"blinded": {"$ref": "#/components/schemas/Element"}}
              },
              "Evaluated": {
                "type": "object",
                "required": ["evaluated", "ticket", "guesses_remaining", "open"],
                "properties": {
                  "evaluated": {"$ref": "#/components/schemas/Element"},
                  "ticket": {"$ref": "#/components/schemas/Ticket"},
                  "guesses_remaining": {"type": "integer", "minimum": 0},
                  "open": {
                    "type": "array",
                    "description": "All tries that nobody has confirmed, with this one.",
                    "items": {"$ref": "#/components/schemas/OpenTry"}
                  }
                },
                "additionalProperties": false
              },
              "OpenTry": {
                "type": "object",
                "required": ["ticket", "at"],
                "properties": {"ticket": {"$ref": "#/components/schemas/Ticket"}, "at": {"type": "integer"}},
                "additionalProperties": false
              },
              "Confirm": {
                "type": "object",
                "required": ["tickets", "signature"],
                "properties": {
                  "tickets": {"type": "array", "minItems": 1, "maxItems": 64, "items": {"$ref": "#/components/schemas/Ticket"}},
                  "signature": {"$ref": "#/components/schemas/Signature"},
                  "confirm_key": {"$ref": "#/components/schemas/PublicKey"},
                  "end_signature": {"$ref": "#/components/schemas/Signature"}
                }
              },
              "End": {
                "type": "object",
                "required": ["signature"],
                "properties": {"signature": {"$ref": "#/components/schemas/Signature"}}
              },
              "Label": {
                "type": "string",
                "description": "Sealed by the client: base64url without padding, at most 512 bytes.",
                "pattern": "^[A-Za-z0-9_-]*$",
                "maxLength": 683
              },
              "Claim": {
                "type": "object",
                "required": ["signature"],
                "properties": {"signature": {"$ref": "#/components/schemas/Signature"}}
              },
              "Rename": {
                "type": "object",
                "required": ["label"],
                "properties": {"label": {"$ref": "#/components/schemas/Label"}}
              },
              "Devices": {
                "type": "object",
                "required": ["devices"],
                "properties": {"devices": {"type": "array", "items": {"$ref": "#/components/schemas/Device"}}},
                "additionalProperties": false
              },
              "Device": {
                "type": "object",
                "required": ["id", "created_at", "locked"],
                "properties": {
                  "id": {"$ref": "#/components/schemas/KeyID"},
                  "label": {"$ref": "#/components/schemas/Label"},
                  "created_at": {"type": "integer"},
                  "last_used_at": {"type": "integer", "description": "The time of the last confirm; missing for never."},
                  "locked": {"type": "boolean"}
                },
                "additionalProperties": false
              },
              "Problem": {
                "type": "object",
                "description": "RFC 9457.",
                "required": ["status", "title", "code"],
                "properties": {
                  "status": {"type": "integer"},
                  "title": {"type": "string"},
                  "code": {
                    "type": "string",
                    "enum": [
                      "invalid_request",
                      "unauthorized",
                      "clock",
                      "invalid_token",
                      "locked",
                      "no_such_device",
                      "no_such_path",
                      "method_not_allowed",
                      "exists",
                      "conflict",
                      "unfinished",
                      "ended",
                      "revoked",
                      "destroyed",
                      "too_large",
                      "not_json",
                      "invalid_element",
                      "busy",
                      "failed"
                    ]
                  },
                  "time": {"type": "integer", "description": "The service's time; only with clock."}
                },
                "additionalProperties": false
              }
            }
          }
        }
        """
}
