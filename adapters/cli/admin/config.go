package admin

import (
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/configs"
)

type configView struct {
	Settings []configs.Setting `json:"settings"`
	Warnings []string          `json:"warnings"`
}

func (p *Commands) configCommand() *cobra.Command {
	var docs bool
	cmd := &cobra.Command{
		Use: "config", Short: "Print the settings in effect and where each comes from; secrets stay hidden",
		Long: "Print the settings in effect and where each comes from; secrets stay hidden. What the data directory\n" +
			"of waybill dev supplies is among them; serve and worker take that only with --data-dir.",
		Example: `  waybill config
  waybill config --docs           the table of all settings, in Markdown`,
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if docs {
				reference := configs.Reference()
				return p.Show(map[string]string{"markdown": reference}, func(w io.Writer) { _, _ = io.WriteString(w, reference) })
			}
			c, warnings, err := p.loadShown(cmd)
			if err != nil {
				return err
			}
			v := configView{Settings: c.Settings(), Warnings: append([]string{}, warnings...)}
			if !p.AsJSON {
				for _, warning := range v.Warnings {
					term.Row(p.Stderr, "warning: "+warning)
				}
			}
			return p.Show(v, func(w io.Writer) {
				term.Row(w, "SETTING", "VALUE", "FROM")
				for _, s := range v.Settings {
					term.Row(w, s.Name, s.Value, s.Source)
				}
			})
		},
	}
	cmd.Flags().BoolVar(&docs, "docs", false, "print the reference of all settings in Markdown")
	settings.AddSettingFlags(cmd)
	return cmd
}

// loadShown reads the settings as the other commands do, from a data directory too. An error
// there stops the other commands. Here it is a warning.
func (p *Commands) loadShown(cmd *cobra.Command) (c *configs.Config, warnings []string, err error) {
	if c, err = p.Load(cmd); err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(settings.DataDir(p.DataDir).Database()); err != nil && !c.IsSet("database_url") {
		return c, c.Warnings(), nil // nothing to fill in
	}
	placed, err := p.LoadPlaced(cmd)
	if err != nil {
		return c, append(slices.Clone(c.Warnings()), err.Error()), nil
	}
	return placed, placed.Warnings(), nil
}
