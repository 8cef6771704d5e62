package configs_test

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waybill/configs"
)

const svg = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9">`

func TestALogoIsAPictureThatLoadsAndRunsNothing(t *testing.T) {
	t.Parallel()
	dot := func(side int) string {
		var b bytes.Buffer
		if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, side, 1))); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for name, c := range map[string]struct{ content, want string }{
		"a PNG": {dot(20), ""},
		"an SVG of a drawing program": {`<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">` +
			svg + `<style>.a{fill:url(#g)}</style><linearGradient id="g"/><path class="a" style="stroke:url('#g')" d="M0 0"/><use xlink:href="#g"/>` +
			`<image href="data:image/png;base64,AAAA"/></svg>`, ""},
		"a script":             {svg + `<script>alert(1)</script></svg>`, "the element script"},
		"a handler":            {svg + `<path onclick="alert(1)"/></svg>`, "attribute onclick"},
		"HTML":                 {svg + `<foreignObject/></svg>`, "the element foreignObject"},
		"an animated link":     {svg + `<a><animate attributeName="href" to="javascript:alert(1)"/></a></svg>`, "the element animate"},
		"a script in a link":   {svg + `<a href="javascript:alert(1)"/></svg>`, "attribute href"},
		"a picture elsewhere":  {svg + `<image xlink:href="https://evil.example/x.png"/></svg>`, "attribute href"},
		"a style from outside": {svg + `<path style="fill:url( 'https://evil.example/x')"/></svg>`, "attribute style"},
		"an import":            {svg + `<style>@import "https://evil.example/x.css";</style></svg>`, "styles refer"},
		"an escaped url":       {svg + `<style>a{fill:u\72l(https://evil.example/x)}</style></svg>`, "styles refer"},
		"a stylesheet":         {`<?xml-stylesheet href="https://evil.example/x.css"?>` + svg + `</svg>`, "stylesheet"},
		"an entity":            {`<!DOCTYPE svg [<!ENTITY x "y">]>` + svg + `</svg>`, "DOCTYPE"},
		"another document":     {`<html/>`, "neither a PNG nor an SVG"},
		"half an SVG":          {svg + `<path`, "neither a PNG nor an SVG"},
		"nothing":              {"", "neither a PNG nor an SVG"},
		"half a PNG":           {dot(20)[:40], "no PNG that can be read"},
		"a wide PNG":           {dot(2049), "2048 pixels"},
		"a large file":         {svg + strings.Repeat(" ", 256<<10) + "</svg>", "larger than 256 KB"},
	} {
		_, err := configs.Load(configs.Sources{Environ: []string{"WAYBILL_BRAND_LOGO_FILE=" + write(t, "logo", c.content)}})
		if (c.want == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "BRAND_LOGO_FILE")) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	_, err := configs.Load(configs.Sources{Environ: []string{"WAYBILL_BRAND_LOGO_FILE=" + filepath.Join(os.TempDir(), "no", "logo")}})
	if err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("without a file: %v", err)
	}
}

func TestNameAccentAndContactOfABrand(t *testing.T) {
	t.Parallel()
	for setting, values := range map[string]struct{ good, bad []string }{
		"BRAND_NAME":    {[]string{"Kofi & Co", strings.Repeat("Ɔ", 40)}, []string{"a\tb", strings.Repeat("x", 41)}},
		"BRAND_ACCENT":  {[]string{"#0b5d80", "#FFCC00"}, []string{"red", "#fff", "#0b5d80; }", "0b5d80"}},
		"SUPPORT_URL":   {[]string{"https://kofi.example/help?from=waybill"}, []string{"kofi.example", "javascript:alert(1)", "https://a:b@kofi.example"}},
		"SUPPORT_EMAIL": {[]string{"help@kofi.example"}, []string{"help", "Help <help@kofi.example>", "help@kofi.example?bcc=x@evil.example"}},
	} {
		for _, v := range values.good {
			if _, err := configs.Load(configs.Sources{Environ: []string{"WAYBILL_" + setting + "=" + v}}); err != nil {
				t.Errorf("%s=%s: %v", setting, v, err)
			}
		}
		for _, v := range values.bad {
			if _, err := configs.Load(configs.Sources{Environ: []string{"WAYBILL_" + setting + "=" + v}}); err == nil || !strings.Contains(err.Error(), setting) {
				t.Errorf("%s=%s: %v", setting, v, err)
			}
		}
	}
}
