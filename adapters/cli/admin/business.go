package admin

import (
	"cmp"
	"io"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/term"
	"waybill/configs"
	"waybill/domain"
)

type businessView struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	RateLimit string `json:"rate_limit,omitempty"` // absent: the setting for all
}

func showBusiness(b domain.Business) businessView {
	v := businessView{ID: string(b.ID), Name: b.Name}
	if b.RateLimit != nil {
		v.RateLimit = configs.Rate{Limit: b.RateLimit.Limit, Window: b.RateLimit.Window}.String()
	}
	return v
}

func (p *Commands) business() *cobra.Command {
	return term.Group("business", "Customers: create, list", p.businessCreate(), p.businessList())
}

func (p *Commands) businessCreate() *cobra.Command {
	var name, rate string
	cmd := &cobra.Command{
		Use: "create --name NAME", Short: "Add a customer, with three sandbox pickup locations to try things with",
		Example: `  waybill business create --name "Adom Foods"
  waybill business create --name "Adom Foods" --rate-limit 3000/60s`,
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := term.Required(cmd, "name"); err != nil {
				return err
			}
			var limit *domain.RateLimit
			if rate != "" {
				r, err := configs.ParseRate(rate)
				if err != nil {
					return term.Usagef(cmd, "--rate-limit is %q; it is %v", rate, err)
				}
				l := domain.RateLimit{Limit: r.Limit, Window: r.Window}
				limit = &l
			}
			return p.withUseCases(cmd, func(o *UseCases) error {
				b, err := o.Tenants.CreateBusiness(cmd.Context(), p.OperatorHere(), name, limit)
				if err != nil {
					return err
				}
				v := showBusiness(b)
				return p.Show(v, func(w io.Writer) {
					term.Row(w, "Business", v.ID, v.Name)
					term.Row(w, "Next", "waybill app create --business "+v.ID+" --name NAME")
					term.Row(w, "Portal", "waybill person invite --business "+v.ID+" --email EMAIL --name NAME --role owner")
				})
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "trading name, "+domain.NameRule.String())
	cmd.Flags().StringVar(&rate, "rate-limit", "", "requests per window, such as 3000/60s; without it the setting for all applies")
	return cmd
}

func (p *Commands) businessList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List all customers, oldest first", Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withUseCases(cmd, func(o *UseCases) error {
				businesses, err := o.Tenants.Businesses(cmd.Context())
				if err != nil {
					return err
				}
				views := make([]businessView, 0, len(businesses))
				for _, b := range businesses {
					views = append(views, showBusiness(b))
				}
				return p.Show(views, func(w io.Writer) {
					term.Row(w, "ID", "NAME", "RATE LIMIT")
					for _, v := range views {
						term.Row(w, v.ID, v.Name, cmp.Or(v.RateLimit, o.Config.RateLimitPerBusiness.String()+" (the default)"))
					}
				})
			})
		},
	}
}
