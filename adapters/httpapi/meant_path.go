package httpapi

import (
	"slices"
	"strings"
	"sync"

	"waybill/domain"
)

// meantPath returns the path of the route that an unknown path was probably meant for, with names
// in place of IDs, and the slip in it: an empty ID, a doubled or trailing slash, a doubled /v1 or a
// singular noun. It returns empty texts where no route fits.
func (a *API) meantPath(path string) (meant, slip string) {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	if len(segments) > 12 {
		return "", ""
	}
	if slices.Contains(segments, "") {
		if meant, slip = a.similar(slices.Clone(segments), "an empty ID"); meant != "" {
			return meant, slip
		}
		segments = slices.DeleteFunc(segments, func(s string) bool { return s == "" })
	}
	if "/"+strings.Join(segments, "/") != path {
		slip = "a doubled or trailing slash"
	}
	return a.similar(segments, slip)
}

// similar returns the path of the route that has these segments, after /v1 twice and singular nouns
// in them are corrected, and the slip: the one found earlier, or one of these.
func (a *API) similar(segments []string, slip string) (meant, found string) {
	for len(segments) > 1 && segments[0] == "v1" && segments[1] == "v1" {
		segments, slip = segments[1:], "/v1 twice"
	}
	for i, noun := range segments {
		if plural, singular := plurals()[noun]; singular {
			segments[i], slip = plural, "a singular noun"
		}
	}
	if slip == "" || len(segments) == 0 || segments[0] != "v1" {
		return "", ""
	}
	for _, r := range routes {
		if r.sandboxOnly && a.Environment != domain.Sandbox {
			continue
		}
		if parts := strings.Split(r.path[1:], "/"); slices.EqualFunc(parts, segments[1:], func(part, sent string) bool {
			return part == sent || strings.HasPrefix(part, "{")
		}) {
			return "/v1" + r.path, slip
		}
	}
	return "", ""
}

// plurals maps the singular of the nouns in the paths to their plural.
var plurals = sync.OnceValue(func() map[string]string {
	of := map[string]string{}
	for _, r := range routes {
		for part := range strings.SplitSeq(r.path[1:], "/") {
			switch {
			case strings.HasPrefix(part, "{"):
			case strings.HasSuffix(part, "ies"):
				of[strings.TrimSuffix(part, "ies")+"y"] = part
			case strings.HasSuffix(part, "sses"):
				of[strings.TrimSuffix(part, "es")] = part
			case strings.HasSuffix(part, "s"):
				of[strings.TrimSuffix(part, "s")] = part
			}
		}
	}
	return of
})
