package portal

// Route is a route as tests go through them.
type Route struct{ Method, Path string }

// Routes are all there are.
func Routes() (all []Route) {
	for _, r := range routes() {
		all = append(all, Route{r.method, r.path})
	}
	return all
}
