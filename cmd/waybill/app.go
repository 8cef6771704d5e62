package main

import (
	"io"

	"github.com/spf13/cobra"

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

func (p *adminCommands) app() *cobra.Command {
	return group("app", "Programs of a customer: create, disable, enable, list", p.appCreate(),
		p.appSwitch("disable", "Stop an application: all its keys answer 401 within two seconds", true),
		p.appSwitch("enable", "Let a disabled application in again, with the keys it had", false),
		p.appList())
}

func (p *adminCommands) showApp(a domain.Application) error {
	v := showApp(a)
	return p.show(v, func(w io.Writer) { row(w, "Application", v.ID, v.Name, v.state()) })
}

func (p *adminCommands) appCreate() *cobra.Command {
	var business, name string
	cmd := &cobra.Command{
		Use: "create --business ID --name NAME", Short: "Add a program of a customer; it owns the deliveries it creates",
		Example: `  waybill app create --business biz_0198f3a27c4e7b1d9a6e5c2f10d3b847 --name "Web shop"`,
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := required(cmd, "business", "name"); err != nil {
				return err
			}
			id, err := parseID(cmd, "a business", domain.PrefixBusiness, business)
			if err != nil {
				return err
			}
			return p.inOffice(cmd, func(o *office) error {
				a, err := o.tenants.CreateApplication(cmd.Context(), p.operatorHere(), id, name)
				if err != nil {
					return unknown(err, "business", id)
				}
				return p.showApp(a)
			})
		},
	}
	cmd.Flags().StringVar(&business, "business", "", "ID of the customer")
	cmd.Flags().StringVar(&name, "name", "", "what the customer calls it, 1 to 128 characters")
	return cmd
}

func (p *adminCommands) appSwitch(verb, short string, disabled bool) *cobra.Command {
	return &cobra.Command{
		Use: verb + " ID", Short: short, Args: takes("ID"),
		Example: "  waybill app " + verb + " app_0198f3a27c4e7b1d9a6e5c2f10d3b847",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID(cmd, "an application", domain.PrefixApplication, args[0])
			if err != nil {
				return err
			}
			return p.inOffice(cmd, func(o *office) error {
				a, err := o.tenants.SetDisabled(cmd.Context(), p.operatorHere(), id, disabled)
				if err != nil {
					return unknown(err, "application", id)
				}
				return p.showApp(a)
			})
		},
	}
}

func (p *adminCommands) appList() *cobra.Command {
	var business string
	cmd := &cobra.Command{
		Use: "list --business ID", Short: "List the programs of a customer, oldest first", Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := required(cmd, "business"); err != nil {
				return err
			}
			id, err := parseID(cmd, "a business", domain.PrefixBusiness, business)
			if err != nil {
				return err
			}
			return p.inOffice(cmd, func(o *office) error {
				apps, err := o.tenants.Applications(cmd.Context(), id)
				if err != nil {
					return unknown(err, "business", id)
				}
				views := make([]appView, 0, len(apps))
				for _, a := range apps {
					views = append(views, showApp(a))
				}
				return p.show(views, func(w io.Writer) {
					row(w, "ID", "NAME", "STATE")
					for _, v := range views {
						row(w, v.ID, v.Name, v.state())
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&business, "business", "", "ID of the customer")
	return cmd
}
