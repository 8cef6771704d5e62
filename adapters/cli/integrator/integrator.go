package integrator

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/domain"
	"waybill/ports"
)

const (
	sandboxURLEnv = "WAYBILL_SANDBOX_URL"
	// TestKeyEnv names the variable that holds the sandbox key.
	TestKeyEnv = "WAYBILL_TEST_KEY"
)

// place is an environment, and the variables that say how to reach it.
type place struct {
	env            domain.Environment
	urlEnv, keyEnv string
	called         string
}

var (
	sandboxPlace = place{domain.Sandbox, sandboxURLEnv, TestKeyEnv, "a sandbox"}
	livePlace    = place{domain.Live, "WAYBILL_LIVE_URL", "WAYBILL_LIVE_KEY", "the live API"}
)

// api names the API for messages.
func (to place) api() string { return "the " + string(to.env) + " API" }

// Commands holds the commands for integrators.
type Commands struct {
	*settings.CommandLine
	// Sender returns a sender that posts webhooks as a server does, to private addresses too,
	// and the function that closes it.
	Sender func() (ports.WebhookSender, func())
	// Docs is the path of the documentation on the host of a sandbox.
	Docs    string
	Version string // of the program
}

// All returns the commands of integrators, for the root.
func (p *Commands) All() []*cobra.Command {
	return []*cobra.Command{p.demo(), p.trigger(), p.listen(), p.tail(), p.mcp()}
}

// access holds the flags that say where the sandbox is. The key is no flag: everybody on the
// machine can see flags.
type access struct {
	url, keyFile string
}

func (a *access) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.url, "url", "", "base address of a sandbox, which ends in /v1 ("+sandboxURLEnv+
		"; without it that of DIR/dev.env)")
	cmd.Flags().StringVar(&a.keyFile, "key-file", "", "file with a test key ("+TestKeyEnv+", "+TestKeyEnv+
		"_FILE; without it that of DIR/dev.env)")
}

// sandbox returns the client of the API that most commands call.
func (p *Commands) sandbox(cmd *cobra.Command, a access) (*apiClient, error) {
	return p.api(cmd, a, sandboxPlace)
}

// api returns the client of the API that a command calls. The command line takes precedence
// over the environment, and the environment over the usual data directory.
func (p *Commands) api(cmd *cobra.Command, a access, to place) (*apiClient, error) {
	dir := settings.DataDir(p.DataDir)
	dev, err := settings.ReadEnvFile(dir.DevEnv())
	if err != nil {
		return nil, &term.StartError{What: dir.DevEnv() + " cannot be read", Err: err, UsedFor: to.api(),
			Fix: "run as the user who started waybill dev, or name the sandbox with --url and --key-file"}
	}
	named := cmd.Flag("data-dir").Changed
	base, from := a.url, "--url"
	if base == "" && !named {
		base, from = p.Variable(to.urlEnv), to.urlEnv
	}
	if base == "" {
		base, from = dev[to.urlEnv], to.urlEnv+" in "+dir.DevEnv()
	}
	if base == "" {
		return nil, nothingNamed(dir, named, to)
	}
	base = strings.TrimSuffix(base, "/")
	if u, err := url.Parse(base); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		!strings.HasSuffix(u.Path, "/v1") || u.RawQuery != "" || u.Fragment != "" {
		return nil, &term.StartError{What: from + " is no address of " + to.called, UsedFor: to.api(),
			Fix: "http://host:port/v1, such as http://127.0.0.1:8081/v1"}
	}
	c := newAPIClient(base, from)
	for _, name := range []string{"data-dir", "url", "key-file"} {
		if f := cmd.Flag(name); f.Changed {
			c.flags += " --" + name + " " + term.ShellQuoted(f.Value.String())
		}
	}
	if !p.AsJSON {
		c.notice = func(why string) { fmt.Fprintln(p.Stderr, "  "+why) }
	}
	// The key of the data directory is for its own server only: it must not be sent to any
	// other address.
	if own := dev[to.keyEnv]; own != "" && a.keyFile == "" && base == dev[to.urlEnv] && (named || !p.hasKey(to)) {
		c.portalLink = dev["WAYBILL_PORTAL_LINK"]
		c.key, c.keyFrom, c.preparation = own, to.keyEnv+" in "+dir.DevEnv(), ". "+term.ShellWord(dir.DevEnv())
	} else if err := p.readKey(c, a.keyFile, to); err != nil {
		return nil, err
	}
	return c, keyRefused(c, to)
}

func (p *Commands) hasKey(to place) bool {
	return p.Variable(to.keyEnv) != "" || p.Variable(to.keyEnv+"_FILE") != ""
}

// readKey reads the key from a file or the environment.
func (p *Commands) readKey(c *apiClient, file string, to place) error {
	from := "--key-file"
	if file == "" {
		if c.key, c.keyFrom = p.Variable(to.keyEnv), to.keyEnv; c.key != "" {
			return nil
		}
		file, from = p.Variable(to.keyEnv+"_FILE"), to.keyEnv+"_FILE"
	}
	if file == "" {
		return &term.StartError{What: "there is no key for " + c.baseURL, UsedFor: to.api() + " (" + to.keyEnv + ")",
			Fix: to.keyEnv + "=" + domain.KeyPrefix(to.env) + "..., or --key-file FILE; waybill key create --env " + string(to.env) + " makes one"}
	}
	content, err := os.ReadFile(file) //nolint:gosec // the file that the user names
	if err != nil {
		return &term.StartError{What: "the key cannot be read", Err: err, UsedFor: to.api() + " (" + from + ")",
			Fix: "name a file that this user may read and that holds the key alone"}
	}
	c.key, c.keyFrom = strings.TrimSpace(string(content)), from
	c.preparation = "export " + to.keyEnv + "=$(cat " + term.ShellWord(file) + ")"
	return nil
}

// keyRefused reports what the server would, when the key itself shows it.
func keyRefused(c *apiClient, to place) error {
	env, ok := domain.ParseAPIKey(c.key)
	e := &term.StartError{UsedFor: to.api() + " (" + c.keyFrom + ")",
		Fix: "a key that begins with " + domain.KeyPrefix(to.env) + "; waybill key create --env " + string(to.env) + " makes one"}
	switch {
	case !ok:
		e.What = "that is no API key, or not a whole one"
	case env != to.env && to.env == domain.Live:
		e.What = "that is a test key, and --live works on live"
	case env != to.env:
		e.What = "that is a live key, and only sandbox deliveries are played with"
	default:
		return nil
	}
	return e
}

func nothingNamed(dir settings.DataDir, named bool, to place) error {
	what := "there is no " + dir.DevEnv()
	if !named {
		what += ", and " + to.urlEnv + " is not set"
	}
	return &term.StartError{What: what, UsedFor: to.api(),
		Fix: "make run (or waybill dev) in another terminal, then this again; or name a sandbox with --url and --key-file"}
}
