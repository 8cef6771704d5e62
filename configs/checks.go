package configs

import (
	"net"
	"net/mail"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// minSecret is the minimum length of a secret: 32 characters of hex are 128 bits.
const minSecret = 32

// builtInCurrency is the currency of the built-in prices.
const builtInCurrency = "GHS"

var (
	currency = regexp.MustCompile(`^[A-Z]{3}$`)
	region   = regexp.MustCompile(`^[A-Z]{2}$`)
)

// checks holds the rules that Config's tags name. A rule checks a value that is not empty and
// returns a badValue.
var checks = map[string]func(string) error{
	"address":     checkAddress,
	"url":         checkURL,
	"base_url":    checkBaseURL,
	"origin":      checkOrigin,
	"database":    checkDatabase,
	"redis":       checkRedis,
	"file":        checkFile,
	"pooler":      oneOf("none", "transaction"),
	"hosts":       checkHosts,
	"switch":      oneOf("on", "off"),
	"bike":        oneOf("motor_scooter", "motorcycle", "bicycle"),
	"secret":      checkSecret,
	"currency":    matches(currency, "is no currency", "three capital letters, such as GHS"),
	"region":      matches(region, "is no country", "two capital letters, such as GH"),
	"smtp":        checkSMTP,
	"mail_from":   checkMailFrom,
	"issuer":      checkIssuer,
	"claim":       checkClaim,
	"request_log": oneOf("on", "failures", "off"),
	"log_format":  oneOf("auto", "text", "json"),

	"brand_name":    checkBrandName,
	"logo":          checkLogo,
	"accent":        matches(accentColour, "is no colour", "# and six digits of hex, such as #0b5d80"),
	"support_url":   checkSupportURL,
	"support_email": checkSupportEmail,
}

func checkAddress(s string) error {
	err := bad("is no address to listen on", "host:port, such as 127.0.0.1:8080")
	_, port, splitErr := net.SplitHostPort(s)
	if splitErr != nil {
		return err
	}
	if n, numErr := strconv.Atoi(port); numErr != nil || n < 0 || n > 65535 {
		return err
	}
	return nil
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?)*$`)

func checkHosts(s string) error {
	for _, name := range parseNames(s) {
		if !hostName.MatchString(name) {
			return bad("holds "+quotedPart(s, name)+", which is no name of a host",
				"comma-separated names without a port, such as api,ops.example.com")
		}
	}
	return nil
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.RawQuery != "", u.Fragment != "":
		return bad("is no address of a service", "http(s)://host/path, such as https://example.com/path")
	case u.User != nil:
		return bad("has a user or a password in it", "leave out what stands before the @")
	case strings.HasSuffix(s, "/"):
		return bad("ends in a slash", "leave out the last slash")
	}
	return nil
}

// checkOrigin refuses a path: the portal and the console link to pages, assets and forms from the
// root of their host.
func checkOrigin(s string) error {
	if err := checkURL(s); err != nil {
		return err
	}
	if u, err := url.Parse(s); err != nil || u.Path != "" {
		return bad("has a path, and these pages work only at the root of a host", "leave out the path, as in https://portal.example.com, and give the pages a host of their own")
	}
	return nil
}

func checkBaseURL(s string) error {
	if err := checkURL(s); err != nil {
		return err
	}
	if !strings.HasSuffix(s, "/v1") {
		return bad("does not end in /v1", "the address clients put before paths, such as https://api.example.com/v1")
	}
	return nil
}

func checkDatabase(s string) error {
	for _, scheme := range []string{"postgres://", "postgresql://", "sqlite://"} {
		if len(s) > len(scheme) && strings.HasPrefix(s, scheme) {
			return checkCredentials(s)
		}
	}
	const fix = "postgres://user:password@host/name or sqlite:///path/to/file" //nolint:gosec // an example
	if kindOfURL(s) == "Redis" {
		return bad("is the address of a Redis, and the data goes into a database", fix+"; Redis belongs into WAYBILL_REDIS_URL")
	}
	if scheme, _, found := strings.Cut(s, "://"); found && plainScheme(scheme) {
		return bad("names no database we know: it begins with "+scheme+"://", fix)
	}
	return bad("names no database we know", fix)
}

func checkRedis(s string) error {
	for _, scheme := range []string{"redis://", "rediss://", "unix://"} {
		if len(s) > len(scheme) && strings.HasPrefix(s, scheme) {
			return checkCredentials(s)
		}
	}
	const fix = "redis://user:password@host:6379/0, or rediss:// for TLS" //nolint:gosec // an example
	switch kind := kindOfURL(s); kind {
	case "":
		return bad("names no Redis", fix)
	case "database":
		return bad("is the address of a database and of no Redis", fix+"; the database belongs into WAYBILL_DATABASE_URL")
	default:
		return bad("is an address of the kind "+kind+":// and of no Redis", fix)
	}
}

// plainQuery matches parameters of an address. It does not match the rest of a password and a host
// after it.
var plainQuery = regexp.MustCompile(`^[a-z_]+=[^&?#@]*(@[^&?#@/]*)?(&[a-z_]+=[^&?#@]*(@[^&?#@/]*)?)*$`)

// passwordWithAt finds a password in a query that messages would show after its @.
var passwordWithAt = regexp.MustCompile(`(password|passwd|pwd)=[^&]*@`)

// checkCredentials refuses an address whose user or password holds a character that ends it. The
// rest would be read as a host, a path or a query, and messages would show it.
func checkCredentials(s string) error {
	scheme, rest, _ := strings.Cut(s, "://")
	if scheme == "sqlite" {
		return nil
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	_, err := url.Parse(scheme + "://" + authority[:strings.LastIndex(authority, "@")+1] + "host")
	behind := rest[len(authority):]
	if path, query, asks := strings.Cut(behind, "?"); asks && plainQuery.MatchString(query) && !passwordWithAt.MatchString(query) &&
		(strings.Contains(authority, "@") || strings.HasPrefix(path, "/") && !strings.Contains(authority, ":")) {
		behind = path // a value in the query may have an @
	}
	// Postgres clients read the text after the first @ as the host.
	ends := strings.HasPrefix(scheme, "postgres") && strings.Count(authority, "@") > 1
	if err != nil || ends || strings.Contains(behind, "@") {
		return bad("has a character in its user or password that belongs percent-encoded, or an @ behind its host",
			"write @ as %40, / as %2F, ? as %3F, # as %23, % as %25 and a space as %20")
	}
	return nil
}

func checkSMTP(s string) error {
	const fix = "smtp://user:password@host:587, or smtps://host:465" //nolint:gosec // an example
	u, err := url.Parse(s)
	if isMail := strings.HasPrefix(s, "smtp://") || strings.HasPrefix(s, "smtps://"); isMail && checkCredentials(s) != nil {
		return checkCredentials(s)
	}
	switch {
	case err != nil:
		return bad("cannot be read as an address", fix)
	case u.Scheme != "smtp" && u.Scheme != "smtps":
		return bad("names no mail server: it begins with neither smtp:// nor smtps://", fix)
	case u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.Fragment != "":
		return bad("is no address of a mail server", fix)
	case u.Port() != "" && !isPort(u.Port()):
		return bad("has a port that is none", fix)
	case u.RawQuery != "" && (u.Scheme == "smtps" || u.RawQuery != "starttls=optional"):
		return bad("has an option that is not known", "smtp://host?starttls=optional is the only one")
	}
	if _, has := u.User.Password(); u.User != nil && (!has || u.User.Username() == "") {
		return bad("has a user without a password, or a password without a user", fix)
	}
	return nil
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

func checkMailFrom(s string) error {
	a, err := mail.ParseAddress(s)
	if err != nil || !strings.Contains(a.Address[strings.LastIndex(a.Address, "@")+1:], ".") && !strings.HasSuffix(a.Address, "@localhost") {
		return bad("is no e-mail address", "Waybill <no-reply@example.com>, or no-reply@example.com")
	}
	at := strings.LastIndex(a.Address, "@")
	if strings.ContainsFunc(a.Address[:at], notASCII) {
		return bad("has characters outside ASCII before the @, which many mail servers refuse", "an address such as no-reply@"+a.Address[at+1:])
	}
	if host := a.Address[at+1:]; strings.ContainsFunc(host, notASCII) {
		if _, err := idna.Lookup.ToASCII(host); err != nil {
			return bad("has a domain that no mail server can find: "+err.Error(), "Waybill <no-reply@example.com>")
		}
	}
	return nil
}

func notASCII(r rune) bool { return r > unicode.MaxASCII }

// plainScheme reports whether a text is certainly a scheme, and no part of a secret before "://".
func plainScheme(s string) bool {
	return s != "" && len(s) <= 12 && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz+-") == ""
}

// kindOfURL returns the kind of an address by its scheme: Redis, database, a scheme that is
// neither, or "". It never returns more of the address.
func kindOfURL(s string) string {
	scheme, _, _ := strings.Cut(strings.ToLower(s), "://")
	switch scheme {
	case "redis", "rediss":
		return "Redis"
	case "postgres", "postgresql", "sqlite", "mysql":
		return "database"
	case "http", "https", "tcp", "memcached", "amqp":
		return scheme
	}
	return ""
}

func checkFile(s string) error {
	f, err := os.Open(s) //nolint:gosec // the file that the settings name
	if err != nil {
		return bad("cannot be read", "name a file that this user may read")
	}
	return f.Close()
}

func checkSecret(s string) error {
	if len(s) < minSecret {
		return bad("is too short", "at least 32 characters that nobody can guess: openssl rand -hex 32")
	}
	return nil
}

func matches(re *regexp.Regexp, what, fix string) func(string) error {
	return func(s string) error {
		if !re.MatchString(s) {
			return bad(what, fix)
		}
		return nil
	}
}

func oneOf(values ...string) func(string) error {
	return func(s string) error {
		for _, v := range values {
			if s == v {
				return nil
			}
		}
		return bad("is none of the values there are", strings.Join(values, ", "))
	}
}

// checkTogether checks the rules about more than one setting.
func (c *Config) checkTogether() Problems {
	var problems Problems
	addresses := map[string]string{}
	for _, name := range []string{"live_addr", "sandbox_addr", "ops_addr", "portal_addr"} {
		f, _ := fieldNamed(name)
		address := map[string]string{"live_addr": c.LiveAddr, "sandbox_addr": c.SandboxAddr, "ops_addr": c.OpsAddr,
			"portal_addr": c.PortalAddr}[name]
		if address == "" || strings.HasSuffix(address, ":0") {
			continue
		}
		if other, taken := addresses[address]; taken {
			problems = append(problems, Problem{
				What:  f.env() + " is " + strconv.Quote(address) + " and so is " + other,
				SetIn: c.Source(name), Fix: "give each listener an address of its own",
			})
		}
		addresses[address] = f.env()
	}
	if c.KeyPepper != "" && c.KeyPepper == c.SecretKey {
		problems = append(problems, Problem{
			What:  "WAYBILL_KEY_PEPPER and WAYBILL_SECRET_KEY are the same",
			SetIn: c.Source("secret_key"), Fix: "draw a second one: openssl rand -hex 32",
		})
	}
	if len(c.DatabaseReplicaURLs) > 0 && strings.HasPrefix(c.DatabaseURL.Reveal(), "sqlite://") {
		problems = append(problems, Problem{
			What:  "WAYBILL_DATABASE_REPLICA_URLS is set, and the database is a SQLite file, which has no replicas",
			SetIn: c.Source("database_replica_urls"), Fix: "leave it out, or name the Postgres that they follow in WAYBILL_DATABASE_URL",
		})
	}
	if c.SMTPURL != "" && c.MailFrom == "" {
		problems = append(problems, Problem{
			What:  "WAYBILL_SMTP_URL is set and WAYBILL_MAIL_FROM is not: a mail has to come from somebody",
			SetIn: c.Source("smtp_url"), Fix: "WAYBILL_MAIL_FROM=\"Waybill <no-reply@example.com>\"",
		})
	}
	problems = append(problems, c.checkIdentityProvider()...)
	if c.Currency != "" && c.Currency != builtInCurrency && c.Tariff.Vehicles == nil && c.PricingURL == "" {
		problems = append(problems, Problem{
			What:  "WAYBILL_CURRENCY is " + strconv.Quote(c.Currency) + " and the built-in prices are in " + builtInCurrency,
			SetIn: c.Source("currency"), Fix: "give a tariff in the configuration file, or WAYBILL_PRICING_URL",
		})
	}
	return problems
}
