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
	// TestKeyEnv names the variable that holds the key of the sandbox.
	TestKeyEnv = "WAYBILL_TEST_KEY"
)

// Commands are the commands that play an integrator.
type Commands struct {
	*settings.CommandLine
	// Sender posts webhooks as a server does, to private addresses too; the
	// function it comes with ends it.
	Sender func() (ports.WebhookSender, func())
	// Docs is where the documentation stands beside a sandbox.
	Docs string
}

// All are the commands of integrators, for the root.
func (p *Commands) All() []*cobra.Command {
	return []*cobra.Command{p.demo(), p.trigger(), p.listen(), p.tail()}
}

// access is how a command that plays an integrator is told where the sandbox
// is. A key is no flag: everybody on the machine sees those.
type access struct {
	url, keyFile string
}

func (a *access) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.url, "url", "", "base address of a sandbox, which ends in /v1 ("+sandboxURLEnv+
		"; without it that of DIR/dev.env)")
	cmd.Flags().StringVar(&a.keyFile, "key-file", "", "file with a test key ("+TestKeyEnv+", "+TestKeyEnv+
		"_FILE; without it that of DIR/dev.env)")
}

// sandbox is the API that a command is to call. What the command line names
// wins over the environment, which wins over the usual data directory.
func (p *Commands) sandbox(cmd *cobra.Command, a access) (*apiClient, error) {
	dir := settings.DataDir(p.DataDir)
	dev, err := settings.ReadEnvFile(dir.DevEnv())
	if err != nil {
		return nil, &term.StartError{What: dir.DevEnv() + " cannot be read", Err: err, UsedFor: "the sandbox API",
			Fix: "run as the user who started waybill dev, or name the sandbox with --url and --key-file"}
	}
	named := cmd.Flag("data-dir").Changed
	base, from := a.url, "--url"
	if base == "" && !named {
		base, from = p.Variable(sandboxURLEnv), sandboxURLEnv
	}
	if base == "" {
		base, from = dev[sandboxURLEnv], sandboxURLEnv+" in "+dir.DevEnv()
	}
	if base == "" {
		return nil, noSandbox(dir, named)
	}
	base = strings.TrimSuffix(base, "/")
	if u, err := url.Parse(base); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		!strings.HasSuffix(u.Path, "/v1") || u.RawQuery != "" || u.Fragment != "" {
		return nil, &term.StartError{What: from + " is no address of a sandbox", UsedFor: "the sandbox API",
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
	// The key of the data directory is for its own server only: it must not
	// travel to whatever address was named.
	if own := dev[TestKeyEnv]; own != "" && a.keyFile == "" && base == dev[sandboxURLEnv] && (named || !p.hasTestKey()) {
		c.portalLink = dev["WAYBILL_PORTAL_LINK"]
		c.key, c.keyFrom, c.preparation = own, TestKeyEnv+" in "+dir.DevEnv(), ". "+term.ShellWord(dir.DevEnv())
	} else if err := p.readTestKey(c, a.keyFile); err != nil {
		return nil, err
	}
	return c, testKeyRefused(c)
}

func (p *Commands) hasTestKey() bool {
	return p.Variable(TestKeyEnv) != "" || p.Variable(TestKeyEnv+"_FILE") != ""
}

// readTestKey takes the key from a file or the environment.
func (p *Commands) readTestKey(c *apiClient, file string) error {
	from := "--key-file"
	if file == "" {
		if c.key, c.keyFrom = p.Variable(TestKeyEnv), TestKeyEnv; c.key != "" {
			return nil
		}
		file, from = p.Variable(TestKeyEnv+"_FILE"), TestKeyEnv+"_FILE"
	}
	if file == "" {
		return &term.StartError{What: "there is no key for " + c.baseURL, UsedFor: "the sandbox API (" + TestKeyEnv + ")",
			Fix: TestKeyEnv + "=svc_test_key_..., or --key-file FILE; waybill key create --env sandbox makes one"}
	}
	content, err := os.ReadFile(file) //nolint:gosec // the file that the caller names
	if err != nil {
		return &term.StartError{What: "the key cannot be read", Err: err, UsedFor: "the sandbox API (" + from + ")",
			Fix: "name a file that this user may read and that holds the key alone"}
	}
	c.key, c.keyFrom = strings.TrimSpace(string(content)), from
	c.preparation = "export " + TestKeyEnv + "=$(cat " + term.ShellWord(file) + ")"
	return nil
}

// testKeyRefused tells what the server would, where the key shows it by itself.
func testKeyRefused(c *apiClient) error {
	env, ok := domain.ParseAPIKey(c.key)
	e := &term.StartError{UsedFor: "the sandbox API (" + c.keyFrom + ")",
		Fix: "a key that begins with svc_test_key_; waybill key create --env sandbox makes one"}
	switch {
	case !ok:
		e.What = "that is no API key, or not a whole one"
	case env != domain.Sandbox:
		e.What = "that is a live key, and only sandbox deliveries are played with"
	default:
		return nil
	}
	return e
}

func noSandbox(dir settings.DataDir, named bool) error {
	what := "there is no " + dir.DevEnv()
	if !named {
		what += ", and " + sandboxURLEnv + " is not set"
	}
	return &term.StartError{What: what, UsedFor: "the sandbox API",
		Fix: "make run (or waybill dev) in another terminal, then this again; or name a sandbox with --url and --key-file"}
}
