package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"waybill/adapters/cli/term"
	"waybill/domain"
	"waybill/ports"
)

func (d *diagnosis) redis(ctx context.Context) {
	const check = "redis"
	if d.c.RedisURL == "" {
		d.ok(check, "not set: every process counts limits for itself")
		return
	}
	client, closeClient, err := d.program.Instruments.Redis(d.c)
	if err != nil {
		d.failed(check, err)
		return
	}
	defer closeClient()
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	asked := time.Now()
	clock, err := client.Time(ctx)
	if err != nil {
		d.fail(check, d.c.RedisURL.String()+" does not answer: "+term.Plainly(err)+" (WAYBILL_REDIS_URL)",
			"start Redis, or correct WAYBILL_REDIS_URL; servers go on without it, each counting for itself")
		return
	}
	took := time.Since(asked)
	d.clocks = append(d.clocks, clockReading{"Redis's", clock.Sub(asked.Add(took / 2))})
	if err := client.Usable(ctx); err != nil {
		d.fail(check, d.c.RedisURL.String()+" answers and cannot be used: "+term.Plainly(err)+" (WAYBILL_REDIS_URL)",
			refusedFix(err)+"; until then each process counts limits for itself and finds due work in the database")
		return
	}
	d.redisServer(ctx, client, fmt.Sprintf("at %s answers in %s", d.c.RedisURL, shortly(took)))
}

// refusedFix returns what to do when a Redis refuses.
func refusedFix(err error) string {
	rights := "give its user the rights: ACL SETUSER name +@all ~waybill:* ~asynq:* &waybill:*"
	for _, known := range []struct{ part, fix string }{
		{"NOPERM", rights}, {"user executing the script can't run", rights},
		{"READONLY", "name the primary in WAYBILL_REDIS_URL, or a Sentinel with ?master_name="},
		{"OOM", "give Redis more memory (maxmemory), or remove what else is in it"},
	} {
		if strings.Contains(err.Error(), known.part) {
			return known.fix
		}
	}
	return "the log of Redis tells why it refuses"
}

// redisServer checks what Redis reports about itself, which some hosts hide.
func (d *diagnosis) redisServer(ctx context.Context, client Redis, message string) {
	const check = "redis"
	info := map[string]string{}
	for _, section := range []string{"server", "memory", "cluster"} {
		text, _ := client.Info(ctx, section)
		for line := range strings.Lines(text) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
				info[name] = value
			}
		}
	}
	version, policy := info["redis_version"], info["maxmemory_policy"]
	message = strings.TrimSpace("Redis "+version) + " " + message
	major, known := leadingNumber(version)
	switch {
	case info["cluster_enabled"] == "1":
		d.fail(check, message+", and is a Cluster", "a single Redis, or a Sentinel with ?master_name=")
	case known && major < oldestRedis:
		d.warn(check, message, fmt.Sprintf("Redis %d or newer", oldestRedis))
	case policy != "" && policy != "noeviction":
		d.warn(check, message+"; its maxmemory-policy is "+policy+", by which limits and the queue lose entries when memory is full",
			"maxmemory-policy noeviction")
	case policy == "":
		d.warn(check, message+", and does not tell its maxmemory-policy", "see that it is noeviction")
	default:
		d.ok(check, message+", maxmemory-policy "+policy)
	}
}

// accra holds two points that every service of the company has to know.
var accra = domain.Trip{
	Environment: domain.Sandbox, VehicleType: domain.Bike,
	Pickup: domain.Coordinates{Latitude: 5.5571, Longitude: -0.1818}, Dropoff: domain.Coordinates{Latitude: 5.6037, Longitude: -0.1870},
}

func (d *diagnosis) pricing(ctx context.Context) {
	const check = "pricing"
	pricing, err := d.program.Instruments.Pricing(d.c)
	if err != nil {
		d.failed(check, err)
		return
	}
	if d.c.PricingURL == "" {
		d.ok(check, "the built-in tariff, in "+d.c.Currency)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	asked := time.Now()
	_, err = pricing.Price(ctx, accra)
	var outside *ports.OutsideServiceAreaError
	if err != nil && !errors.As(err, &outside) { // elsewhere this trip is outside the service area, and that is a good response too
		d.fail(check, d.c.PricingURL+" has no price for a trip: "+term.Plainly(causeOf(err))+" (WAYBILL_PRICING_URL)",
			"start the pricing service, or correct the address; without it a create answers 503")
		return
	}
	d.ok(check, d.c.PricingURL+" answers in "+shortly(time.Since(asked)))
}

func (d *diagnosis) mail(ctx context.Context) {
	const check = "mail"
	if d.c.SMTPURL == "" {
		if d.c.PortalAddr != "" {
			d.add(VerdictOK, check, "no mail server: people get links from owners and commands, and no word of their keys (WAYBILL_SMTP_URL)", "")
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	asked := time.Now()
	if err := d.program.Instruments.Mailer(d.c).Check(ctx); err != nil {
		d.fail(check, d.c.SMTPURL.String()+" would take no mail: "+term.Plainly(err)+" (WAYBILL_SMTP_URL)",
			"start the mail server, or correct the address; until then mails wait, and links come from owners and commands")
		return
	}
	d.ok(check, d.c.SMTPURL.String()+" would take mails, and answers in "+shortly(time.Since(asked)))
}

// identity checks that the provider of the staff's sign-in describes itself as the configured
// issuer, and accepts the client.
func (d *diagnosis) identity(ctx context.Context) {
	const check = "identity provider"
	if d.c.OIDCIssuer == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	asked := time.Now()
	err := d.program.Instruments.Identity(d.c).Check(ctx)
	switch {
	case errors.Is(err, ports.ErrIdentityClientRefused):
		d.fail(check, d.c.OIDCIssuer+" refuses the client "+d.c.OIDCClientID+": "+term.Plainly(err),
			"make a new client secret there and set WAYBILL_OIDC_CLIENT_SECRET to it, or correct WAYBILL_OIDC_CLIENT_ID; until then staff "+
				"sign in by password, passkey or link")
	case err != nil:
		d.fail(check, d.c.OIDCIssuer+" lets nobody in: "+term.Plainly(err),
			"start the provider, or set WAYBILL_OIDC_ISSUER to the \"issuer\" of its .well-known/openid-configuration; until then staff sign "+
				"in by password, passkey or link")
	default:
		d.ok(check, d.c.OIDCIssuer+" accepts the client "+d.c.OIDCClientID+", and answers in "+shortly(time.Since(asked)))
	}
}

// causeOf returns the error below a domain error, whose own text is for customers.
func causeOf(err error) error {
	var ours *domain.Error
	if errors.As(err, &ours) && ours.Err != nil {
		return ours.Err
	}
	return err
}

func (d *diagnosis) routing(ctx context.Context) {
	const check = "routing"
	switch {
	case d.c.RoutingURL == "" && d.c.PricingURL != "":
		return // the pricing service measures
	case d.c.RoutingURL == "":
		d.ok(check, "none: distances are straight lines x 1.3")
		return
	case d.c.PricingURL != "":
		d.warn(check, "WAYBILL_ROUTING_URL is not used by servers: with WAYBILL_PRICING_URL the pricing service measures",
			"set it for waybill pricing serve alone")
		return
	}
	routing, closeRouting, err := d.program.Instruments.Roads(d.c)
	if err != nil {
		d.failed(check, err)
		return
	}
	defer closeRouting()
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	asked := time.Now()
	err = routing.Ping(ctx)
	if err == nil {
		err = measures(ctx, routing)
	}
	if err != nil {
		d.fail(check, d.c.RoutingURL+" measures no trip: "+term.Plainly(err)+" (WAYBILL_ROUTING_URL)",
			"start the Valhalla, or correct the address; without it a create answers 503")
		return
	}
	d.ok(check, d.c.RoutingURL+" answers in "+shortly(time.Since(asked)))
}

// streets checks whether the street map of the console can be drawn.
func (d *diagnosis) streets() {
	const check = "street map"
	if d.c.MapFile == "" {
		return
	}
	tiles, err := d.program.Instruments.Streets(d.c)
	if err != nil {
		d.failed(check, err)
		return
	}
	m, err := tiles.StreetMap()
	switch {
	case err != nil:
		d.failed(check, err)
	case len(m.Layers) == 0:
		d.warn(check, d.c.MapFile+" names no layers, so that nothing of it is drawn", "a file that tells them as vector_layers in its metadata")
	default:
		d.ok(check, fmt.Sprintf("%s, zooms %d to %d, %s", d.c.MapFile, m.MinZoom, m.MaxZoom, term.Counted(len(m.Layers), "layer")))
	}
}

// measures requests a trip. "No way" is a good result of a map of another region.
func measures(ctx context.Context, routing ports.Routing) error {
	_, err := routing.Distance(ctx, accra)
	var outside *ports.OutsideServiceAreaError
	if errors.Is(err, ports.ErrNoRoute) || errors.As(err, &outside) {
		return nil
	}
	return err
}
