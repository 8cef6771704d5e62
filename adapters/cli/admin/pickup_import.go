package admin

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/term"
	"waybill/adapters/web/pickupcsv"
	"waybill/application/directory"
)

// importView is the result of an import.
type importView struct {
	DryRun     bool             `json:"dry_run"`
	Created    int              `json:"created"`
	Updated    int              `json:"updated"`
	Unchanged  int              `json:"unchanged"`
	Incomplete []incompleteView `json:"incomplete"`
}

// incompleteView is a location that cannot be used yet.
type incompleteView struct {
	Line    int      `json:"line"`
	ID      string   `json:"id,omitempty"` // none in a dry run
	Name    string   `json:"name"`
	Missing []string `json:"missing"`
}

func showImport(done directory.Imported, dryRun bool) importView {
	v := importView{DryRun: dryRun, Created: done.Created, Updated: done.Updated, Unchanged: done.Unchanged, Incomplete: []incompleteView{}}
	for _, r := range done.Incomplete {
		shown := incompleteView{Line: r.Line, ID: string(r.Location.ID), Name: r.Location.Name}
		if dryRun {
			shown.ID = ""
		}
		if r.Location.Contact == "" {
			shown.Missing = append(shown.Missing, "contact")
		}
		if r.Location.Coordinates == nil {
			shown.Missing = append(shown.Missing, "coordinates")
		}
		v.Incomplete = append(v.Incomplete, shown)
	}
	return v
}

func (p *Commands) pickupImport() *cobra.Command {
	var f pickupForm
	var dryRun bool
	cmd := &cobra.Command{
		Use: "import --business ID --env live|sandbox FILE.csv", Short: "Add or update the pickup locations of a CSV file, all or none",
		Long: "Add or update the pickup locations of a CSV file, all or none. Its first line names the columns:\n" +
			strings.Join(pickupcsv.Columns(), ",") + ". Common other names, such as branch, phone,\n" +
			"lat and lng, work too. Only name and address are needed; a location without contact or coordinates\n" +
			"cannot be used until it is completed. A row whose name and address the business has already updates\n" +
			"that location, and an empty cell leaves what is there.\n\n" +
			"The file is read as Excel, LibreOffice and Google Sheets save it: UTF-8, windows-1252, or UTF-16 with\n" +
			"a byte order mark; cells separated by commas, semicolons or tabs, or as a line sep=; before the first\n" +
			"line says. Coordinates may have a decimal comma, in quotes where commas separate the cells.\n" +
			"With - for the file the table is read from standard input.",
		Example: `  waybill pickup-location import --business biz_0198f3a27c4e7b1d9a6e5c2f10d3b847 --env live branches.csv --dry-run`,
		Args:    term.Takes("FILE.csv"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := term.Required(cmd, "business", "env"); err != nil {
				return err
			}
			tenant, err := f.tenant(cmd)
			if err != nil {
				return err
			}
			content, err := readCSV(cmd, args[0])
			if err != nil {
				return err
			}
			return p.withUseCases(cmd, func(o *UseCases) error {
				numbers, err := p.Normalizer(o.Config)
				if err != nil {
					return err
				}
				rows, err := pickupcsv.Read(content, numbers)
				if err != nil {
					return refusedFile(args[0], err)
				}
				bar := p.Progress("importing", len(rows))
				done, err := o.Pickups.Import(cmd.Context(), p.OperatorHere(), tenant, rows, dryRun, func() { bar.Add(1) })
				bar.End()
				if err != nil {
					return term.Unknown(err, "business", tenant.BusinessID)
				}
				v := showImport(done, dryRun)
				return p.Show(v, v.summary)
			})
		},
	}
	cmd.Flags().StringVar(&f.business, "business", "", "ID of the customer")
	term.AddEnvFlag(cmd, &f.env)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "tell what would come of it and change nothing")
	return cmd
}

// readCSV reads as much as a table may have, and one byte that shows there is more.
func readCSV(cmd *cobra.Command, path string) ([]byte, error) {
	from := cmd.InOrStdin()
	if path != "-" {
		file, err := os.Open(path) //nolint:gosec // the file that the user names
		if err != nil {
			return nil, term.Usagef(cmd, "the file cannot be read: %v", err)
		}
		defer file.Close()
		from = file
	}
	return io.ReadAll(io.LimitReader(from, pickupcsv.MaxBytes+1))
}

// refusedFile returns everything that is wrong with a file, one line each.
func refusedFile(path string, err error) error {
	var wrong pickupcsv.Errors
	if !errors.As(err, &wrong) {
		return err
	}
	lines := []string{path + " has " + wrong.Count() + "; nothing was stored:"}
	for _, w := range wrong.Shown() {
		at := "  line " + strconv.Itoa(w.Line) + ": "
		if w.Field != "" {
			at += w.Field + ": "
		}
		lines = append(lines, at+w.Message)
	}
	return errors.New(strings.Join(lines, "\n"))
}

func (v importView) summary(w io.Writer) {
	if v.DryRun {
		term.Row(w, "Nothing was stored. An import would come to this:")
	}
	term.Row(w, "Created", strconv.Itoa(v.Created))
	term.Row(w, "Updated", strconv.Itoa(v.Updated))
	term.Row(w, "Unchanged", strconv.Itoa(v.Unchanged))
	if len(v.Incomplete) == 0 {
		return
	}
	term.Row(w, "Incomplete", strconv.Itoa(len(v.Incomplete))+"   (cannot be used until completed)")
	for _, r := range v.Incomplete {
		term.Row(w, "  line "+strconv.Itoa(r.Line), r.Name, "no "+strings.Join(r.Missing, ", no "), r.ID)
	}
}
