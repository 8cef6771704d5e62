package configs

import (
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"time"
)

// Config holds every setting. The tags document it. name is the key in a file and, in capitals
// after WAYBILL_, the variable. check names a rule of checks.go.
type Config struct {
	LiveAddr    string   `name:"live_addr" group:"Listeners" default:"127.0.0.1:8080" check:"address" doc:"where the live API listens; port 0 takes a free one"`
	SandboxAddr string   `name:"sandbox_addr" group:"Listeners" default:"127.0.0.1:8081" check:"address" doc:"where the sandbox API listens"`
	OpsAddr     string   `name:"ops_addr" group:"Listeners" default:"127.0.0.1:8082" check:"address" doc:"where the operations API, health, metrics and profiles are served; keep it private"`
	PortalAddr  string   `name:"portal_addr" group:"Listeners" default:"127.0.0.1:8084" empty:"none" check:"address" doc:"where the people of customers sign in, and make and rotate their keys; set and empty: there is no portal. Where it is not set and the port is in use, waybill dev takes a free one"`
	OpsHosts    []string `name:"ops_hosts" group:"Listeners" check:"hosts" doc:"names by which metrics, profiles and /readyz?verbose may be asked for, comma-separated, such as that of a container which Prometheus scrapes; addresses and localhost always do. What comes by another name may be a web page in a browser that reaches the listener"`
	Pprof       string   `name:"pprof" group:"Listeners" default:"off" check:"switch" doc:"on: /debug/pprof is open to every client that reaches the operations listener; off: it takes the token of an admin or read-only operator, and a worker has none"`

	LiveBaseURL     string         `name:"live_base_url" group:"Listeners" check:"base_url" doc:"public address of the live API, ending in /v1; default: from live_addr. With https:// here, or in another public address, answers at it tell browsers to come to its host by https alone for a year (Strict-Transport-Security)"`
	SandboxBaseURL  string         `name:"sandbox_base_url" group:"Listeners" check:"base_url" doc:"public address of the sandbox API, ending in /v1; default: from sandbox_addr"`
	TrackingBaseURL string         `name:"tracking_base_url" group:"Listeners" check:"url" doc:"what comes before the reference in tracking links; default: /track on the live address. The pages answer at its path and at /track, on the live and the sandbox address"`
	PortalBaseURL   string         `name:"portal_base_url" group:"Listeners" check:"origin" doc:"where the people of customers open the portal, a host without a path; links that let them in begin with it, also those in mails, which the worker sends: set it there too. With https:// cookies are kept for this host alone and never sent without it; default: http://localhost and the port of portal_addr"`
	ConsoleBaseURL  string         `name:"console_base_url" group:"Listeners" check:"origin" doc:"where the staff opens the console, which is on the operations listener under /console; without that path or another. Links that let them in begin with it, also those in mails, which the worker sends: set it there too. The operations listener answers to its host. Passkeys need a name and no IP address. With https:// cookies are kept for this host alone and never sent without it; default: http://localhost and the port of ops_addr, and of a worker port 8082"`
	TrustedProxies  []netip.Prefix `name:"trusted_proxies" group:"Listeners" doc:"networks whose X-Forwarded-For is believed, comma-separated, such as 10.0.0.0/8; empty: none. What another address sends is not believed and warned of"`
	MaxConnections  int            `name:"max_connections" group:"Listeners" default:"8192" min:"64" max:"1000000" doc:"most connections of the live API at a time; the sandbox API has half as many of its own, operations a sixteenth. All have less where the process may open few files. One network may have half, one address an eighth and at least 8, a trusted proxy all of them. What is over takes the place of an idle one of the same network, or is closed at once. Of the requests whose bodies are still arriving, half as many are read at a time, of one network an eighth and of one address a thirty-second; others are answered 503 after a second or two"`
	HTTPIdleTimeout time.Duration  `name:"http_idle_timeout" group:"Listeners" default:"75s" min:"1s" max:"1h" doc:"how long the live, sandbox and portal listeners keep a connection open on which no request comes. Make it longer than the load balancer keeps its own: the balancer sends requests on a connection that the server is closing otherwise, and answers 502 now and then. Load balancers commonly keep theirs for 60 s (AWS, nginx); Google's keeps 600 s and needs 620s here"`
	ShutdownDelay   time.Duration  `name:"shutdown_delay" group:"Listeners" default:"0s" min:"0s" max:"15s" doc:"how long a server that was told to end still takes requests, while /readyz answers 503 and each answer closes its connection. The 30 seconds that it has to end begin after that. Behind a load balancer make it longer than the balancer takes to notice: then a rolling restart refuses no request. dev ends at once"`

	DatabaseURL          URL           `name:"database_url" group:"Storage" secret:"file" check:"database" doc:"postgres://user:password@host/name, or sqlite:///path/to/file; in a data directory its own SQLite file. Several hosts, host1:5432,host2:5432, are tried until one may be written; connect_timeout (3 s), target_session_attrs (read-write), search_path and options=-c%20name%3Dvalue may follow. What is special in user and password is percent-encoded: @ is %40, / is %2F. The database stores UTF-8, for one installation. User and password are read from database_url's file again for each new connection: a new password needs no restart. waybill migrate up needs the role that owns the tables, with CREATE on their schema. Servers and workers may have another role, with USAGE on the schema, SELECT, INSERT, UPDATE and DELETE on all tables, and USAGE, SELECT and UPDATE on all sequences; one that is no member of the owner makes no partitions of the request log, so run migrate up at least every two weeks, which makes them for a month. waybill doctor tells which rights are missing. Where two requests create the same at the same moment Postgres logs that the key of one exists, a phone number for example; log_error_verbosity = terse keeps values out of its log"`
	DatabasePoolSize     int           `name:"database_pool_size" group:"Storage" default:"24" min:"8" max:"500" doc:"most connections one process holds to Postgres. A server shares them out, so that neither environment waits for the other's requests nor for its own lists: of 24, live has 9, its lists, searches and feeds 3, the sandbox 4, its lists 2, operations API, web sites, tracking pages and jobs 4, their lists, searches and reports 2; of another number an eighth, a fifth, a twelfth, a sixth and a twelfth, and live the rest. One more, beside these, writes the request log: Postgres needs a max_connections of at least processes x (this number + 1), and its superuser_reserved_connections besides"`
	DatabaseReplicaURLs  []URL         `name:"database_replica_urls" group:"Storage" secret:"file" doc:"streaming replicas of the Postgres in database_url from which lists, searches and the request log are read, comma-separated, each a postgres:// URL of one server (a comma in a password is %2C). A process opens as many connections to each as its lists have to Postgres (of 24: 3, 2 and 2), and one more to look after it. Nothing that is read there is older than the request for it, but for the request log, which may come half a second later: before each list Postgres is asked where its log ends, and a replica is read that has replayed it up to there, within database_replica_lag; else Postgres is. The feed, records by their ID, keys and all that is decided on are read from Postgres. hot_standby_feedback = on spares lists there from being broken off. Where standbys are synchronous, name those, with synchronous_commit = remote_apply: another one may show what the primary does not show yet. Empty: Postgres alone is read"`
	DatabaseReplicaLag   time.Duration `name:"database_replica_lag" group:"Storage" default:"100ms" min:"10ms" max:"500ms" doc:"how far a replica may be behind, and the longest that a list waits for one before it is read from Postgres. A replica that is further behind, or does not answer, is left out until it is well again, which is looked at twice a second"`
	DatabasePooler       string        `name:"database_pooler" group:"Storage" default:"none" check:"pooler" doc:"what stands before Postgres: none, or transaction for PgBouncer in transaction mode and its like, which needs pool_mode = transaction, a max_client_conn of at least processes x (database_pool_size + 1), and no ignore_startup_parameters; time-outs then go with every transaction, and no statement is prepared; a pooler that is not named is refused at the start"`
	RedisURL             URL           `name:"redis_url" group:"Storage" secret:"file" check:"redis" doc:"redis://user:password@host:6379/0, rediss:// for TLS, or a Sentinel with ?master_name=NAME, by which processes share limits, the queue and news of changed keys; the number (/0) is the database of Redis, and each installation needs one of its own. While it cannot be used, each process counts for itself, and workers find due work in the database within 5 s; empty: each process keeps its own"`
	IdempotencyRetention time.Duration `name:"idempotency_retention" group:"Storage" default:"24h" min:"1s" max:"720h" doc:"how long an Idempotency-Key is remembered"`
	BulkLease            time.Duration `name:"bulk_lease" group:"Storage" default:"5s" min:"1s" max:"5m" doc:"how long a bulk whose process died stays reserved for it; then the same request resumes it. A process that lives renews it"`

	PricingURL      string        `name:"pricing_url" group:"Pricing" check:"url" doc:"a pricing service; empty: the built-in tariff"`
	PricingTimeout  time.Duration `name:"pricing_timeout" group:"Pricing" default:"2s" min:"10ms" max:"2400ms" doc:"how long the pricing service may take"`
	RoutingURL      string        `name:"routing_url" group:"Pricing" check:"url" doc:"a Valhalla, such as http://valhalla:8002, by which the built-in tariff measures roads; empty: straight lines x 1.3. A car and a van take the way of its auto, a truck that of its truck. A pricing service measures for itself"`
	RoutingTimeout  time.Duration `name:"routing_timeout" group:"Pricing" default:"1s" min:"10ms" max:"1900ms" doc:"how long a distance may take"`
	RoutingBike     string        `name:"routing_bike" group:"Pricing" default:"motor_scooter" check:"bike" doc:"whose way a bike takes: motor_scooter, motorcycle or bicycle"`
	ServiceAreaFile string        `name:"service_area_file" group:"Pricing" check:"file" doc:"GeoJSON polygons that are served; empty: a box around Ghana"`
	Currency        string        `name:"currency" group:"Pricing" default:"GHS" check:"currency" doc:"ISO 4217 code of every amount; two decimals"`
	Tariff          Tariff        `name:"tariff" group:"Pricing" doc:"the built-in price table; in a file only"`
	PhoneRegion     string        `name:"phone_region" group:"Pricing" default:"GH" check:"region" doc:"country in which phone numbers without a country code are read"`

	RateLimitPerKey      Rate `name:"rate_limit_per_key" group:"Limits" default:"600/60s" doc:"requests of one API key"`
	RateLimitPerBusiness Rate `name:"rate_limit_per_business" group:"Limits" default:"1200/60s" doc:"requests of one business per environment, unless it has its own limit"`

	WebhookAllowPrivate  bool  `name:"webhook_allow_private" group:"Webhooks" default:"false" doc:"whether webhook endpoints may be on this machine or a private network, by http and on any port: for development; dev sets it to true while all its listeners are on loopback addresses"`
	WebhookRetrySchedule Waits `name:"webhook_retry_schedule" group:"Webhooks" doc:"waits before each further attempt of a webhook, such as 5s,30s,2m, in both environments; empty: 11 waits over three days on live, 4 within 13 minutes in the sandbox"`

	KeyPepper Secret `name:"key_pepper" group:"Secrets" secret:"only" check:"secret" doc:"under which API keys are digested, and from which the key is derived that signs cursors; how to change it stands with key_pepper_previous. Made by dev in a data directory, required elsewhere"`
	SecretKey Secret `name:"secret_key" group:"Secrets" secret:"only" check:"secret" doc:"from which the key is derived that seals the signing secrets of webhooks; how to change it stands with secret_key_previous. Made by dev in a data directory, required elsewhere"`

	KeyPepperPrevious []Secret `name:"key_pepper_previous" group:"Secrets" secret:"only" doc:"comma-separated peppers under which API keys, operator tokens and cursors work too, for a change of key_pepper: first give every process and every command the new pepper here; then, one after the other, make it their key_pepper and put the old one here. Each key moves to the new one within about a minute of its next use; waybill doctor and the metric waybill_old_pepper_keys tell how many are left, and waybill key list --old-pepper which: revoke those that are not used any more. When none is left, and 30 days after the last process got the new one, take the old one out. A start that comes too early for a key or a token is refused; cursors are not counted, and that is why it is 30 days: a cursor of the feed is good for as long"`
	SecretKeyPrevious []Secret `name:"secret_key_previous" group:"Secrets" secret:"only" doc:"comma-separated keys that open what was sealed under them, for a change of secret_key: first give every process the new key here; then, one after the other, make it their secret_key and put the old one here; a day after the last, or after idempotency_retention where that is longer, take the old one out. Meanwhile all secrets are sealed anew; programs that listen get another one at their next start"`

	SMTPURL  URL    `name:"smtp_url" group:"Mail" secret:"file" check:"smtp" doc:"the mail server by which people get links, and word of their keys and endpoints: smtp://user:password@host:587, which needs STARTTLS, or smtps://host:465 for TLS from the first byte. ?starttls=optional is for a relay in a private network that has no TLS; a user and a password go to no other host without it. Serve needs it to offer links by mail, a worker to send. Empty: mails go to the log, and with their links only in dev"`
	MailFrom string `name:"mail_from" group:"Mail" check:"mail_from" doc:"the sender of mails, such as Waybill <no-reply@example.com>; needed with smtp_url. A domain of other letters is sent in its ASCII form, xn--..."`

	OIDCIssuer       string     `name:"oidc_issuer" group:"Staff" check:"issuer" doc:"the company's identity provider, by which staff sign in to the console: its issuer, exactly as it writes it. Register Waybill there as a confidential client with the code flow, PKCE and the address {console}/signin/oidc/callback to come back to; the end of waybill config --docs has it for several products. It is looked up when the first person needs it: while it does not answer, links, passwords and passkeys go on working. Empty: there is none"`
	OIDCClientID     string     `name:"oidc_client_id" group:"Staff" doc:"the ID under which the identity provider knows Waybill"`
	OIDCClientSecret Secret     `name:"oidc_client_secret" group:"Staff" secret:"only" doc:"the secret that goes with oidc_client_id"`
	OIDCRoles        StaffRoles `name:"oidc_roles" group:"Staff" doc:"who gets which role of the console: group:NAME=ROLE and domain:HOST=ROLE, comma-separated, such as group:dispatch=dispatcher,domain:example.com=viewer. The strongest of admin, dispatcher, support and viewer counts, at each sign-in anew; an account without any is refused. An e-mail address has to be verified by the provider"`
	OIDCGroupsClaim  string     `name:"oidc_groups_claim" group:"Staff" default:"groups" check:"claim" doc:"the claim in which the identity provider lists the groups of an account, as names or, with Entra, as object IDs; one that is inside another claim is a path, such as realm_access.roles"`

	MapFile string `name:"map_file" group:"Staff" check:"file" doc:"a street map for the console, which shows open deliveries on it: a PMTiles file (version 3) of vector tiles whose layers are named as by Protomaps or OpenMapTiles. A region is cut out of the newest build of the world by pmtiles extract https://build.protomaps.com/DATE.pmtiles ghana.pmtiles --bbox=-3.3,4.6,1.3,11.3, which has some 200 MB and the attribution that its licence asks for. Each process that runs serve reads its own copy; one that is renamed over it counts from the next tile on. Empty: the map without streets alone"`

	BrandName     string `name:"brand_name" group:"Brand" default:"Waybill" check:"brand_name" doc:"the name of the delivery company, as recipients and customers know it: on tracking pages, in the portal and the console, and in emails"`
	BrandLogoFile string `name:"brand_logo_file" group:"Brand" check:"logo" doc:"the company's logo for these pages: an SVG or PNG file of at most 256 KB, and a PNG of at most 2048 pixels on a side. It is shown 28 pixels high. An SVG with scripts, animations or references to other files is refused. A new file needs a restart. Empty: the logo of Waybill"`
	BrandAccent   string `name:"brand_accent" group:"Brand" check:"accent" doc:"the colour of links and buttons, such as #0b5d80. Where text in it would be hard to read (a contrast under 4.5:1), it is darkened for light pages and lightened for dark ones. Empty: the blue of Waybill"`
	SupportURL    string `name:"support_url" group:"Brand" check:"support_url" doc:"a page where people get help, such as https://example.com/help: shown on tracking pages, in the portal, on sign-in pages and in emails"`
	SupportEmail  string `name:"support_email" group:"Brand" check:"support_email" doc:"an email address where people get help, shown in the same places"`

	RequestLog            string `name:"request_log" group:"Request log" default:"on" check:"request_log" doc:"what is kept of requests to the public API, for the portal and for figures of usage: on, failures, or off. No body, name, phone number, address or key is ever kept"`
	RequestLogDays        int    `name:"request_log_days" group:"Request log" default:"3" min:"1" max:"365" doc:"for how many days requests that succeeded are kept"`
	RequestLogFailureDays int    `name:"request_log_failure_days" group:"Request log" default:"30" min:"1" max:"365" doc:"for how many days requests that failed are kept"`
	RequestLogMaxMB       int    `name:"request_log_max_mb" group:"Request log" default:"10240" min:"0" max:"10000000" doc:"megabytes that the request log may take in Postgres; what is over goes before its time, the oldest day first. 0: no bound"`

	LogLevel  slog.Level `name:"log_level" group:"Logs" default:"info" doc:"debug, info, warn or error"`
	LogFormat string     `name:"log_format" group:"Logs" default:"auto" check:"log_format" doc:"text, json, or auto: text in dev and json elsewhere"`

	sources     map[string]string // by name; absent: the default
	files       map[string]string // by name, of values that came from NAME_FILE
	warnings    []string
	development bool
}

// CurrentDatabaseURL returns the address of the database as its file has it now, so that a new
// password there needs no restart. Without a usable file it returns the address from the start.
func (c *Config) CurrentDatabaseURL() string {
	const name = "database_url"
	path, fromFile := c.files[name]
	if !fromFile {
		return c.DatabaseURL.Reveal()
	}
	// A pipe was read at the start: opening it again may block forever.
	if about, err := os.Stat(path); err != nil || !about.Mode().IsRegular() {
		return c.DatabaseURL.Reveal()
	}
	content, err := os.ReadFile(path) //nolint:gosec // the file that the settings name
	now := strings.TrimSpace(string(content))
	if err != nil || checkDatabase(now) != nil {
		return c.DatabaseURL.Reveal()
	}
	return now
}

// Develop makes the settings those of a development server, which logs what is a secret elsewhere.
func (c *Config) Develop() { c.development = true }

// PortalMayMove reports whether the portal takes a free port if its own is in use. So a second
// development server on a machine needs no setting. Elsewhere a proxy and the links in mails use
// its address.
func (c *Config) PortalMayMove() bool { return c.development && !c.IsSet("portal_addr") }

// MailsAreRead reports whether mails arrive anywhere: at a mail server, or in the log of a
// development server.
func (c *Config) MailsAreRead() bool { return c.SMTPURL != "" || c.development }

// Warnings lists oddities that do not prevent the start, such as a variable that is probably
// mistyped.
func (c *Config) Warnings() []string { return c.warnings }

// Source returns where a setting came from, such as "WAYBILL_LIVE_ADDR" or "default".
func (c *Config) Source(name string) string {
	if s, ok := c.sources[name]; ok {
		return s
	}
	return sourceDefault
}

// IsSet reports whether the setting came from anywhere but its default.
func (c *Config) IsSet(name string) bool { return c.Source(name) != sourceDefault }

// Supply sets a setting that nothing has set yet, and leaves any other alone. A data directory
// provides its own settings this way.
func (c *Config) Supply(name, text, source string) error {
	if c.IsSet(name) {
		return nil
	}
	return c.assign(name, text, source)
}
