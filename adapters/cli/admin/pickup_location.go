package admin

import (
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/term"
	"waybill/adapters/web/views"
	"waybill/application/directory"
	"waybill/configs"
	"waybill/domain"
	"waybill/ports"
)

// listPage is how many locations are read at once.
const listPage = 100

func (p *Commands) pickupLocation() *cobra.Command {
	return term.Group("pickup-location", "Places riders collect from: create, import, list", p.pickupCreate(), p.pickupImport(),
		p.pickupList())
}

// pickupForm is a location as typed.
type pickupForm struct {
	business, env                  string
	name, address, contact         string
	latitude, longitude            float64
	hasLatitude, hasLongitude, off bool
}

func (p *Commands) pickupCreate() *cobra.Command {
	var f pickupForm
	cmd := &cobra.Command{
		Use:   "create --business ID --env live|sandbox --name NAME --address ADDRESS",
		Short: "Add a pickup location; without contact and coordinates it cannot be used until it is completed",
		Example: `  waybill pickup-location create --business biz_0198f3a27c4e7b1d9a6e5c2f10d3b847 --env live --name "Osu branch" \
    --address "12 Oxford Street, Osu, Accra" --contact 0302000001 --latitude 5.5571 --longitude -0.1818`,
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := term.Required(cmd, "business", "env", "name", "address"); err != nil {
				return err
			}
			f.hasLatitude, f.hasLongitude = cmd.Flag("latitude").Changed, cmd.Flag("longitude").Changed
			tenant, err := f.tenant(cmd)
			if err != nil {
				return err
			}
			return p.withUseCases(cmd, func(o *UseCases) error {
				form, err := f.read(o.Config, p.Normalizer)
				if err != nil {
					return err
				}
				location, err := o.Pickups.Add(cmd.Context(), p.OperatorHere(), tenant, form)
				if err != nil {
					return term.Unknown(err, "business", tenant.BusinessID)
				}
				v := views.NewPickupLocation(location)
				return p.Show(v, func(w io.Writer) { pickupHeader(w); pickupRow(w, v) })
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.business, "business", "", "ID of the customer")
	term.AddEnvFlag(cmd, &f.env)
	flags.StringVar(&f.name, "name", "", "what riders and the customer call it, "+domain.NameRule.String())
	flags.StringVar(&f.address, "address", "", "where it is, "+domain.AddressRule.String())
	flags.StringVar(&f.contact, "contact", "", "phone number of who hands over")
	flags.Float64Var(&f.latitude, "latitude", 0, "degrees, "+domain.MaxLatitude.String())
	flags.Float64Var(&f.longitude, "longitude", 0, "degrees, "+domain.MaxLongitude.String())
	flags.BoolVar(&f.off, "inactive", false, "add it switched off")
	return cmd
}

func (f *pickupForm) tenant(cmd *cobra.Command) (domain.Tenant, error) {
	business, err := term.ParseID(cmd, "a business", domain.PrefixBusiness, f.business)
	if err != nil {
		return domain.Tenant{}, err
	}
	env, err := term.ParseEnvironment(cmd, f.env)
	return domain.Tenant{BusinessID: business, Environment: env}, err
}

// read checks the location by the rules of the API and reports all errors at once. It loads the
// numbering plans only if there is a number to read.
func (f *pickupForm) read(c *configs.Config, normalizer func(*configs.Config) (ports.Normalizer, error)) (directory.PickupLocationForm, error) {
	form := directory.PickupLocationForm{Name: strings.TrimSpace(f.name), Address: strings.TrimSpace(f.address), Active: !f.off}
	var wrong []domain.FieldError
	refuse := func(field, code, message string) {
		wrong = append(wrong, domain.FieldError{Field: field, Code: code, Message: message})
	}
	if code, message := domain.NameRule.Judge(form.Name); code != "" {
		refuse("name", code, message)
	}
	if code, message := domain.AddressRule.Judge(form.Address); code != "" {
		refuse("address", code, message)
	}
	if f.contact != "" {
		numbers, err := normalizer(c)
		if err != nil {
			return form, err
		}
		var ok bool
		if form.Contact, ok = numbers.PhoneNumber(f.contact); !ok {
			refuse("contact", domain.FieldInvalidFormat, "no valid phone number; write it with its country code, such as +233302000001")
		}
	}
	switch {
	case f.hasLatitude != f.hasLongitude:
		refuse("latitude", domain.FieldRequired, "give --latitude and --longitude together")
	case f.hasLatitude:
		if !domain.MaxLatitude.Holds(f.latitude) {
			refuse("latitude", domain.FieldOutOfRange, domain.MaxLatitude.String()+" degrees")
		}
		if !domain.MaxLongitude.Holds(f.longitude) {
			refuse("longitude", domain.FieldOutOfRange, domain.MaxLongitude.String()+" degrees")
		}
		form.Coordinates = &domain.Coordinates{Latitude: f.latitude, Longitude: f.longitude}
	}
	if len(wrong) > 0 {
		return form, domain.Invalid(wrong...)
	}
	return form, nil
}

func (p *Commands) pickupList() *cobra.Command {
	var f pickupForm
	cmd := &cobra.Command{
		Use: "list --business ID --env live|sandbox", Short: "List a customer's pickup locations, newest first", Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := term.Required(cmd, "business", "env"); err != nil {
				return err
			}
			tenant, err := f.tenant(cmd)
			if err != nil {
				return err
			}
			return p.withUseCases(cmd, func(o *UseCases) error {
				if _, err := o.Store.Read().Tenancy.Business(cmd.Context(), tenant.BusinessID); err != nil {
					return term.Unknown(err, "business", tenant.BusinessID)
				}
				locations, err := allPickups(cmd.Context(), o.Pickups, tenant)
				if err != nil {
					return err
				}
				shown := make([]views.PickupLocation, 0, len(locations))
				for _, l := range locations {
					shown = append(shown, views.NewPickupLocation(l))
				}
				return p.Show(shown, func(w io.Writer) {
					pickupHeader(w)
					for _, v := range shown {
						pickupRow(w, v)
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&f.business, "business", "", "ID of the customer")
	term.AddEnvFlag(cmd, &f.env)
	return cmd
}

func pickupHeader(w io.Writer) {
	term.Row(w, "ID", "NAME", "CONTACT", "COORDINATES", "ACTIVE", "ADDRESS")
}

func pickupRow(w io.Writer, v views.PickupLocation) {
	at := "-"
	if v.Latitude != nil && v.Longitude != nil {
		at = strconv.FormatFloat(*v.Latitude, 'f', -1, 64) + "," + strconv.FormatFloat(*v.Longitude, 'f', -1, 64)
	}
	term.Row(w, v.ID, v.Name, term.Dash(v.Contact), at, strconv.FormatBool(v.Active), v.Address)
}
