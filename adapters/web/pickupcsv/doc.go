// Package pickupcsv reads tables of pickup locations. The command, the operations API and the
// import pages share this reader and its messages. It checks each row by itself and finds duplicate
// rows. application/directory stores the rows.
package pickupcsv
