package main

import (
	"io"

	"github.com/spf13/cobra"

	"waybill/configs"
)

type configView struct {
	Settings []configs.Setting `json:"settings"`
	Warnings []string          `json:"warnings"`
}

func (p *program) config() *cobra.Command {
	var docs bool
	cmd := &cobra.Command{
		Use: "config", Short: "Print the settings in effect and where each comes from; secrets stay hidden",
		Example: `  waybill config
  waybill config --docs           the table of all settings, in Markdown`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if docs {
				reference := configs.Reference()
				return p.show(map[string]string{"markdown": reference}, func(w io.Writer) { _, _ = io.WriteString(w, reference) })
			}
			c, err := p.load(cmd)
			if err != nil {
				return err
			}
			v := configView{Settings: c.Settings(), Warnings: append([]string{}, c.Warnings()...)}
			if !p.asJSON {
				for _, warning := range v.Warnings {
					row(p.stderr, "warning: "+warning)
				}
			}
			return p.show(v, func(w io.Writer) {
				row(w, "SETTING", "VALUE", "FROM")
				for _, s := range v.Settings {
					row(w, s.Name, s.Value, s.Source)
				}
			})
		},
	}
	cmd.Flags().BoolVar(&docs, "docs", false, "print the reference of all settings in Markdown")
	addSettingFlags(cmd)
	return cmd
}
