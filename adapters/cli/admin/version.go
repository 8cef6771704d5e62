package admin

import (
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/term"
)

type versionView struct {
	Version  string `json:"version"`
	Revision string `json:"revision"` // of the source; empty when unknown
	Modified bool   `json:"modified"` // the source differed from the revision
	Go       string `json:"go"`
}

func (p *Commands) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print what this program is", Args: term.Takes(),
		RunE: func(*cobra.Command, []string) error {
			v := versionView{Version: p.Version, Go: runtime.Version()}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					switch s.Key {
					case "vcs.revision":
						v.Revision = s.Value
					case "vcs.modified":
						v.Modified = s.Value == "true"
					}
				}
			}
			return p.Show(v, func(w io.Writer) {
				line := "waybill " + v.Version
				if v.Revision != "" {
					line += " (" + v.Revision
					if v.Modified {
						line += ", modified"
					}
					line += ")"
				}
				term.Row(w, line+" "+v.Go)
			})
		},
	}
}
