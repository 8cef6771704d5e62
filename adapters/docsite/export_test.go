package docsite

// What the reference is drawn by.
const (
	ScalarFile   = scalarFile
	ScalarSHA256 = scalarSHA256
)

// Explained are the codes that have an explanation.
func Explained() []string {
	codes := make([]string, 0, len(explanations))
	for _, e := range explanations {
		codes = append(codes, e.code)
	}
	return codes
}
