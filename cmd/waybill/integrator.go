package main

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"waybill/domain"
	"waybill/ports"
)

const (
	sandboxURLEnv = "WAYBILL_SANDBOX_URL"
	testKeyEnv    = "WAYBILL_TEST_KEY"
)

// integratorCommands are the commands that play an integrator.
type integratorCommands struct {
	*commandLine
	// sender posts webhooks as a server does, to private addresses too; the
	// function it comes with ends it.
	sender func() (ports.WebhookSender, func())
	// docs is where the documentation stands beside a sandbox.
	docs string
}

// all are the commands of integrators, for the root.
func (p *integratorCommands) all() []*cobra.Command {
	return []*cobra.Command{p.demo(), p.trigger(), p.listen(), p.tail()}
}

// access is how a command that plays an integrator is told where the sandbox
// is. A key is no flag: everybody on the machine sees those.
type access struct {
	url, keyFile string
}

func (a *access) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.url, "url", "", "base address of a sandbox, which ends in /v1 ("+sandboxURLEnv+"; without it that of DIR/dev.env)")
	cmd.Flags().StringVar(&a.keyFile, "key-file", "", "file with a test key ("+testKeyEnv+", "+testKeyEnv+"_FILE; without it that of DIR/dev.env)")
}

// sandbox is the API that a command is to call. What the command line names
// wins over the environment, which wins over the usual data directory.
func (p *integratorCommands) sandbox(cmd *cobra.Command, a access) (*apiClient, error) {
	dir := dataDir(p.dataDir)
	dev, err := readEnvFile(dir.devEnv())
	if err != nil {
		return nil, &startError{what: dir.devEnv() + " cannot be read", err: err, usedFor: "the sandbox API",
			fix: "run as the user who started waybill dev, or name the sandbox with --url and --key-file"}
	}
	named := cmd.Flag("data-dir").Changed
	base, from := a.url, "--url"
	if base == "" && !named {
		base, from = p.variable(sandboxURLEnv), sandboxURLEnv
	}
	if base == "" {
		base, from = dev[sandboxURLEnv], sandboxURLEnv+" in "+dir.devEnv()
	}
	if base == "" {
		return nil, noSandbox(dir, named)
	}
	base = strings.TrimSuffix(base, "/")
	if u, err := url.Parse(base); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		!strings.HasSuffix(u.Path, "/v1") || u.RawQuery != "" || u.Fragment != "" {
		return nil, &startError{what: from + " is no address of a sandbox", usedFor: "the sandbox API",
			fix: "http://host:port/v1, such as http://127.0.0.1:8081/v1"}
	}
	c := newAPIClient(base, from)
	for _, name := range []string{"data-dir", "url", "key-file"} {
		if f := cmd.Flag(name); f.Changed {
			c.flags += " --" + name + " " + shellQuoted(f.Value.String())
		}
	}
	if !p.asJSON {
		c.notice = func(why string) { fmt.Fprintln(p.stderr, "  "+why) }
	}
	// The key of the data directory is for its own server only: it must not
	// travel to whatever address was named.
	if own := dev[testKeyEnv]; own != "" && a.keyFile == "" && base == dev[sandboxURLEnv] && (named || !p.hasTestKey()) {
		c.key, c.keyFrom, c.preparation = own, testKeyEnv+" in "+dir.devEnv(), ". "+shellWord(dir.devEnv())
	} else if err := p.readTestKey(c, a.keyFile); err != nil {
		return nil, err
	}
	return c, testKeyRefused(c)
}

func (p *integratorCommands) hasTestKey() bool {
	return p.variable(testKeyEnv) != "" || p.variable(testKeyEnv+"_FILE") != ""
}

// readTestKey takes the key from a file or the environment.
func (p *integratorCommands) readTestKey(c *apiClient, file string) error {
	from := "--key-file"
	if file == "" {
		if c.key, c.keyFrom = p.variable(testKeyEnv), testKeyEnv; c.key != "" {
			return nil
		}
		file, from = p.variable(testKeyEnv+"_FILE"), testKeyEnv+"_FILE"
	}
	if file == "" {
		return &startError{what: "there is no key for " + c.baseURL, usedFor: "the sandbox API (" + testKeyEnv + ")",
			fix: testKeyEnv + "=svc_test_key_..., or --key-file FILE; waybill key create --env sandbox makes one"}
	}
	content, err := os.ReadFile(file) //nolint:gosec // the file that the caller names
	if err != nil {
		return &startError{what: "the key cannot be read", err: err, usedFor: "the sandbox API (" + from + ")",
			fix: "name a file that this user may read and that holds the key alone"}
	}
	c.key, c.keyFrom = strings.TrimSpace(string(content)), from
	c.preparation = "export " + testKeyEnv + "=$(cat " + shellWord(file) + ")"
	return nil
}

// testKeyRefused tells what the server would, where the key shows it by itself.
func testKeyRefused(c *apiClient) error {
	env, ok := domain.ParseAPIKey(c.key)
	e := &startError{usedFor: "the sandbox API (" + c.keyFrom + ")", fix: "a key that begins with svc_test_key_; waybill key create --env sandbox makes one"}
	switch {
	case !ok:
		e.what = "that is no API key, or not a whole one"
	case env != domain.Sandbox:
		e.what = "that is a live key, and only sandbox deliveries are played with"
	default:
		return nil
	}
	return e
}

func noSandbox(dir dataDir, named bool) error {
	what := "there is no " + dir.devEnv()
	if !named {
		what += ", and " + sandboxURLEnv + " is not set"
	}
	return &startError{what: what, usedFor: "the sandbox API",
		fix: "make run (or waybill dev) in another terminal, then this again; or name a sandbox with --url and --key-file"}
}
