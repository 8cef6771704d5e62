// Command reachable exits with 0 where an address is answered with 200 within ten
// seconds. Addresses other than of HTTP are taken to be there.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	address := os.Args[1]
	if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") {
		return
	}
	client := http.Client{Timeout: 10 * time.Second}
	res, err := client.Get(address)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %s", address, res.Status)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reachable:", err)
		os.Exit(1)
	}
}
