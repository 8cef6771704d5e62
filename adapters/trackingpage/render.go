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

// renderer renders pages. It renders those that are the same for all readers of a language once.
type renderer struct {
	template  *template.Template
	names     assetNames
	brand     brand.Brand
	languages languages
	notices   map[noticeIn][]byte
}

// noticeIn is a notice in a language.
type noticeIn struct {
	name string
	in   edition
}

// shell holds the data of every page.
type shell struct {
	edition
	Title  string
	Assets assetNames
	Brand  brand.Brand
	Others []*language // to switch to
	Parcel *parcel
	Notice *shownNotice
}

// shownNotice holds the texts of a notice.
type shownNotice struct {
	Headline string
	Details  []string
	Form     bool
}

func newRenderer(names assetNames, of brand.Brand) *renderer {
	all, err := loadLanguages(textFiles)
	if err != nil {
		panic(err) // the files are embedded
	}
	r := &renderer{template: template.Must(template.New("page").Parse(pageHTML)), names: names, brand: of, languages: all,
		notices: map[noticeIn][]byte{}}
	for _, one := range all.all {
		for _, in := range []edition{{one, false}, {one, true}} {
			for _, n := range []notice{ask, missing, limited, failed, readOnly} {
				body, err := r.noticePage(in, n)
				if err != nil {
					panic(err) // the template and its data are ours
				}
				r.notices[noticeIn{n.name, in}] = body
			}
		}
	}
	return r
}

func (r *renderer) noticePage(in edition, n notice) ([]byte, error) {
	shown := shownNotice{Headline: in.Say(n.name + ".headline"), Details: []string{in.Say(n.name + ".detail")}, Form: n.form}
	if more := in.Say(n.name + ".more"); more != "" {
		shown.Details = append(shown.Details, more)
	}
	s := r.shell(in, shown.Headline+" - "+r.brand.Name())
	s.Notice = &shown
	return r.run("page", s)
}

func (r *renderer) shell(in edition, title string) shell {
	s := shell{edition: in, Title: title, Assets: r.names, Brand: r.brand}
	for _, one := range r.languages.all {
		if one != in.language {
			s.Others = append(s.Others, one)
		}
	}
	return s
}

func (r *renderer) page(p parcel) ([]byte, error) {
	s := r.shell(p.edition, title(p))
	s.Parcel = &p
	return r.run("page", s)
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
