package admin

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/configs"
)

const (
	// readinessTimeout is longer than a server takes for its checks, and shorter than
	// containers give their probes.
	readinessTimeout = 3 * time.Second
	maxReadiness     = 64 << 10
)

type healthView struct {
	Ready   bool   `json:"ready"`
	URL     string `json:"url"`
	Message string `json:"message"`
}

func (p *Commands) healthcheck() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use: "healthcheck [--url URL]", Short: "Ask a running server or worker whether it is ready; for containers",
		Long: "Ask a running server or worker whether it is ready: exit code 0 where it is, also when it goes on without\n" +
			"its Redis, and 1 where it is not or does not answer within three seconds.",
		Example: `  waybill healthcheck                                        the one on WAYBILL_OPS_ADDR of this machine
  waybill healthcheck --url http://127.0.0.1:8083            a worker beside it
  HEALTHCHECK CMD ["waybill", "healthcheck"]                 in a Dockerfile`,
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if address == "" {
				c, err := p.Load(cmd)
				if err != nil {
					return err
				}
				address = opsURL(c)
			}
			if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				return term.Usagef(cmd, "--url is %q; it is the address of the operations listener, such as http://127.0.0.1:8082", address)
			}
			v, err := readiness(cmd, address)
			if err != nil {
				return err
			}
			return p.Show(v, func(w io.Writer) { term.Row(w, v.Message) })
		},
	}
	cmd.Flags().StringVar(&address, "url", "", "address of the operations listener; default: from WAYBILL_OPS_ADDR")
	settings.AddSettingFlags(cmd, "ops_addr")
	return cmd
}

// opsURL returns the address of the operations listener from this machine.
func opsURL(c *configs.Config) string {
	host, port, _ := net.SplitHostPort(c.OpsAddr) // checked with the settings
	return "http://" + net.JoinHostPort(settings.Reachable(host), port)
}

func readiness(cmd *cobra.Command, address string) (healthView, error) {
	v := healthView{URL: address + "/readyz"}
	client := &http.Client{Timeout: readinessTimeout, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, v.URL, nil)
	if err != nil {
		return v, err
	}
	res, err := client.Do(req)
	if err != nil {
		return v, &term.StartError{Code: "NOT_REACHABLE", What: "nothing answers on " + v.URL, Err: err,
			UsedFor: "readiness (WAYBILL_OPS_ADDR, or --url)",
			Fix:     "start waybill serve or waybill worker, or name the address of its operations listener with --url"}
	}
	defer res.Body.Close()
	var answer struct {
		Message string `json:"message"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxReadiness)).Decode(&answer); err != nil || answer.Message == "" {
		return v, &term.StartError{Code: "NOT_WAYBILL", What: "what answers on " + v.URL + " is no Waybill: " + res.Status,
			UsedFor: "readiness (WAYBILL_OPS_ADDR, or --url)", Fix: "name the address of the operations listener with --url"}
	}
	if res.StatusCode != http.StatusOK {
		return v, &term.StartError{Code: "NOT_READY", What: answer.Message, UsedFor: v.URL, Fix: "waybill doctor looks for the cause; " + v.URL +
			"?verbose tells what each check says"}
	}
	v.Ready, v.Message = true, answer.Message
	return v, nil
}
