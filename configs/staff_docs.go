package configs

// staffDocs explains to operators how staff sign in at an identity provider.
const staffDocs = `
## Sign-in of staff at your identity provider

Staff sign in to the console at any provider that speaks OpenID Connect. Register Waybill there as a confidential web client with the
authorization code flow and PKCE (S256), and as the address to come back to the console's, such as
` + "`https://ops.example.com/console/signin/oidc/callback`" + ` with ` + "`WAYBILL_CONSOLE_BASE_URL=https://ops.example.com`" + `. Then:

` + "```sh\n" + `WAYBILL_OIDC_ISSUER=https://id.example.com/realms/company   # exactly as "issuer" stands in its .well-known/openid-configuration
WAYBILL_OIDC_CLIENT_ID=waybill
WAYBILL_OIDC_CLIENT_SECRET_FILE=/run/secrets/waybill-oidc
WAYBILL_OIDC_ROLES=group:dispatch=dispatcher,group:care=support,group:ops=admin,domain:example.com=viewer
` + "```" + `

The provider is in charge of roles: each sign-in gives the strongest one that the rules make of it. An account without any is refused, and
its person is no member of the staff any more: sessions and links end, password and passkeys let nobody into the console, and are deleted
where the person belongs to no customer. The last admin stays one. An account is known by issuer and subject. Its e-mail address, which
has to be verified there, counts at the first sign-in alone: it makes a new person, or is that of one who was invited to the staff and
never came. A person who has signed in otherwise, or belongs to a customer, connects the account under Account. A person who is removed
from the staff comes back while the rules give a role: take away the group, or disable the person. Waybill hears of a lost role by the
next sign-in at the provider and not before, and a password or passkey asks nothing there: who leaves the company is removed here too. What takes a recent sign-in needs a provider that sends
` + "`auth_time`" + `; with another one people use a password, a passkey or a link for it. While the provider does not answer, these go on
working. A client secret that has expired is told to staff and logged as an error: make a new one at the provider. ` + "`waybill doctor`" + ` checks issuer,
client ID and client secret, and signs nobody in.

| Provider | Issuer | Groups | To be known |
|---|---|---|---|
| Dex | ` + "`issuer`" + ` of its configuration | the scope ` + "`groups`" + ` is asked for by itself | ` + "`auth_time`" + ` comes with ` +
	"`DEX_SESSIONS_ENABLED=true`" + `; Waybill is one of its ` + "`staticClients`" + `, with ` + "`id`, `secret`" + ` and ` + "`redirectURIs`" + ` |
| Keycloak | ` + "`https://HOST/realms/REALM`" + ` | a mapper "Group Membership" with the claim ` + "`groups`" + ` in the ID token; with full paths ` +
	"a rule is `group:/dispatch=dispatcher`; or the roles of the realm, with `WAYBILL_OIDC_GROUPS_CLAIM=realm_access.roles`" + ` | users need "Email verified" |
| Entra ID | ` + "`https://login.microsoftonline.com/TENANT/v2.0`" + ` | the optional claim ` + "`groups`" + `; rules name object IDs | add the optional ` +
	"claims `email` and `xms_edov`, which vouches for the address in place of `email_verified`, and `auth_time`; more than 200 groups are " +
	"left out of a token, and their account is refused until you assign groups to the application" + ` |
| Google Workspace | ` + "`https://accounts.google.com`" + ` | none: ` + "`domain:example.com=viewer`" + ` | sends no ` + "`auth_time`" + ` |
`
