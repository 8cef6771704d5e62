// Package packaging holds configs/ against the program: the image, the compose
// file, the units of systemd, the alerts and the dashboard name only commands,
// settings, ports and metrics that there are.
//
// No Docker is needed: the steps of the Dockerfile that build the program are
// followed in a copy of the repository, and all tests run what comes out.
package packaging
