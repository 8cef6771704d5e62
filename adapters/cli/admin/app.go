package admin

import (
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/term"
	"waybill/domain"
)

type appView struct {
	ID         string `json:"id"`
	BusinessID string `json:"business_id"`
	Name       string `json:"name"`
	Disabled   bool   `json:"disabled"`
}

func showApp(a domain.Application) appView {
	return appView{ID: string(a.ID), BusinessID: string(a.BusinessID), Name: a.Name, Disabled: a.Disabled}
}

func (v appView) state() string {
	if v.Disabled {
		return "disabled"
	}
	return "enabled"
}

func (p *Commands) app() *cobra.Command {
	return term.Group("app", "Programs of a customer: create, rename, disable, enable, list", p.appCreate(), p.appRename(),
		p.appSwitch("disable", "Stop an application: all its keys answer 401 within two seconds", true),
		p.appSwitch("enable", "Let a disabled application in again, with the keys it had", false),
		p.appList())
}

func (p *Commands) showApp(a domain.Application) error {
	v := showApp(a)
	return p.Show(v, func(w io.Writer) { term.Row(w, "Application", v.ID, v.Name, v.state()) })
}

func (p *Commands) appCreate() *cobra.Command {
	var business, name string
	cmd := &cobra.Command{
		Use: "create --business ID --name NAME", Short: "Add a program of a customer; it owns the deliveries it creates",
		Long: "Add a program of a customer; it owns the deliveries it creates. A customer has at most " +
			strconv.Itoa(domain.MaxApplications) + ", disabled ones included.",
		Example: `  waybill app create --business biz_0198f3a27c4e7b1d9a6e5c2f10d3b847 --name "Web shop"`,
		Args:    term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := term.Required(cmd, "business", "name"); err != nil {
				return err
			}
			id, err := term.ParseID(cmd, "a business", domain.PrefixBusiness, business)
			if err != nil {
				return err
			}
			return p.withUseCases(cmd, func(o *UseCases) error {
				a, err := o.Tenants.CreateApplication(cmd.Context(), p.OperatorHere(), id, name)
				if err != nil {
					return term.Unknown(err, "business", id)
				}
				return p.showApp(a)
			})
		},
	}
	cmd.Flags().StringVar(&business, "business", "", "ID of the customer")
	cmd.Flags().StringVar(&name, "name", "", "what the customer calls it, "+domain.NameRule.String())
	return cmd
}

func (p *Commands) appRename() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "rename ID --name NAME", Short: "Give an application another name; its keys stay", Args: term.Takes("ID"),
		Example: `  waybill app rename app_0198f3a27c4e7b1d9a6e5c2f10d3b847 --name "Web shop"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := term.Required(cmd, "name"); err != nil {
				return err
			}
			id, err := term.ParseID(cmd, "an application", domain.PrefixApplication, args[0])
			if err != nil {
				return err
			}
			return p.withUseCases(cmd, func(o *UseCases) error {
				a, err := o.Tenants.RenameApplication(cmd.Context(), p.OperatorHere(), id, name)
				if err != nil {
					return term.Unknown(err, "application", id)
				}
				return p.showApp(a)
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "what the customer calls it, "+domain.NameRule.String())
	return cmd
}

func (p *Commands) appSwitch(verb, short string, disabled bool) *cobra.Command {
	return &cobra.Command{
		Use: verb + " ID", Short: short, Args: term.Takes("ID"),
		Example: "  waybill app " + verb + " app_0198f3a27c4e7b1d9a6e5c2f10d3b847",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := term.ParseID(cmd, "an application", domain.PrefixApplication, args[0])
			if err != nil {
				return err
			}
			return p.withUseCases(cmd, func(o *UseCases) error {
				a, err := o.Tenants.SetDisabled(cmd.Context(), p.OperatorHere(), id, disabled)
				if err != nil {
					return term.Unknown(err, "application", id)
				}
				return p.showApp(a)
			})
		},
	}
}

func (p *Commands) appList() *cobra.Command {
	var business string
	cmd := &cobra.Command{
		Use: "list --business ID", Short: "List the programs of a customer, oldest first", Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := term.Required(cmd, "business"); err != nil {
				return err
			}
			id, err := term.ParseID(cmd, "a business", domain.PrefixBusiness, business)
			if err != nil {
				return err
			}
			return p.withUseCases(cmd, func(o *UseCases) error {
				apps, err := o.Tenants.Applications(cmd.Context(), id)
				if err != nil {
					return term.Unknown(err, "business", id)
				}
				views := make([]appView, 0, len(apps))
				for _, a := range apps {
					views = append(views, showApp(a))
				}
				return p.Show(views, func(w io.Writer) {
					term.Row(w, "ID", "NAME", "STATE")
					for _, v := range views {
						term.Row(w, v.ID, v.Name, v.state())
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&business, "business", "", "ID of the customer")
	return cmd
}
