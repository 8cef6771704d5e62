// Package brand describes the company that runs an installation: name, logo, accent colour and
// support contact. All pages and emails show it. The zero Brand is Waybill's own.
//
// The settings checked the logo: see configs. A page links to the files of a brand by their names,
// below the path where it calls Serve.
package brand

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
)

// Brand is what readers see of the company.
type Brand struct {
	Company                  string // empty: Waybill
	SupportURL, SupportEmail string // empty: none
	Logo                     *File  // nil: the logo of Waybill
	Style                    *File  // a stylesheet that replaces colours of tokens.css; nil: none
	accent                   colour // for light pages
}

// File is a file that pages load. Its name changes with its content, so browsers may cache it
// forever.
type File struct {
	Name, Kind string
	content    []byte
}

// Options holds the settings of a brand.
type Options struct {
	Name, SupportURL, SupportEmail string
	Logo                           []byte // of a PNG or SVG file; empty: none
	PNG                            bool   // the logo is a PNG
	Accent                         string // #rrggbb; empty: the blue of Waybill
}

// New returns the brand of the settings.
func New(o Options) Brand {
	b := Brand{Company: o.Name, SupportURL: o.SupportURL, SupportEmail: o.SupportEmail}
	if len(o.Logo) > 0 {
		b.Logo = newFile("logo", ".svg", "image/svg+xml", o.Logo)
		if o.PNG {
			b.Logo = newFile("logo", ".png", "image/png", o.Logo)
		}
	}
	if o.Accent != "" {
		b.accent = onLight(parse(o.Accent))
		b.Style = newFile("brand", ".css", "text/css; charset=utf-8", []byte(styleOf(parse(o.Accent))))
	}
	return b
}

func newFile(name, extension, kind string, content []byte) *File {
	sum := sha256.Sum256(content)
	return &File{Name: name + "." + hex.EncodeToString(sum[:6]) + extension, Kind: kind, content: content}
}

// Name returns the name of the company.
func (b Brand) Name() string { return cmp.Or(b.Company, "Waybill") }

// Button returns the colour of a button with white text, for emails.
func (b Brand) Button() string {
	if b.Style == nil {
		return "#0b4f6c"
	}
	return b.accent.String()
}

// filePolicy keeps a logo that is opened by itself from loading or running anything. SVG files of
// drawing programs have inline styles.
const filePolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

// Serve serves a file of the brand by its name. It reports whether there is one.
func (b Brand) Serve(w http.ResponseWriter, r *http.Request, name string) bool {
	for _, f := range []*File{b.Logo, b.Style} {
		if f == nil || f.Name != name {
			continue
		}
		h := w.Header()
		h.Set("Content-Type", f.Kind)
		h.Set("Content-Length", strconv.Itoa(len(f.content)))
		h.Set("Content-Security-Policy", filePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		w.WriteHeader(http.StatusOK)
		if r.Method != http.MethodHead {
			_, _ = w.Write(f.content) // the client may have disconnected
		}
		return true
	}
	return false
}
