package trackingpage

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"

	"waybill/adapters/brand"
)

//go:embed tracking_page.html
var pageHTML string

// renderer renders pages. It renders those that are the same for all readers once.
type renderer struct {
	template *template.Template
	names    assetNames
	brand    brand.Brand

	ask, missing, limited, failed, readOnly []byte
}

// shell holds the data of every page.
type shell struct {
	Title  string
	Assets assetNames
	Brand  brand.Brand
	Parcel *parcel
	Notice *notice
}

func newRenderer(names assetNames, of brand.Brand) *renderer {
	r := &renderer{template: template.Must(template.New("page").Parse(pageHTML)), names: names, brand: of}
	for page, n := range map[*[]byte]notice{&r.ask: ask, &r.missing: missing, &r.limited: limited, &r.failed: failed, &r.readOnly: readOnly} {
		body, err := r.run("page", shell{Title: n.Headline + " - " + of.Name(), Assets: names, Brand: of, Notice: &n})
		if err != nil {
			panic(err) // the template and its data are ours
		}
		*page = body
	}
	return r
}

func (r *renderer) page(p parcel) ([]byte, error) {
	return r.run("page", shell{Title: title(p), Assets: r.names, Brand: r.brand, Parcel: &p})
}

// change returns the data of a stream event: the part of the page that is new.
func (r *renderer) change(p parcel) ([]byte, error) {
	part, err := r.run("parcel", &p)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // only a script adds it to a page
	err = encoder.Encode(struct {
		Title string `json:"title"`
		HTML  string `json:"html"`
	}{title(p), string(part)})
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (r *renderer) run(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	err := r.template.ExecuteTemplate(&b, name, data)
	return b.Bytes(), err
}

func title(p parcel) string { return p.Headline + " - " + p.Sender }
