package docsite

import "waybill/adapters/receivers"

// sampleText returns the text of a program in samples, or of a receiver.
func sampleText(file string) ([]byte, error) {
	if text, err := receivers.Files.ReadFile(file); err == nil {
		return text, nil
	}
	return sources.ReadFile("samples/" + file)
}
