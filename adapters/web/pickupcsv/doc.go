// Package pickupcsv reads the tables of pickup locations that operators import, with a command
// or through the operations API. Both use one reader and one set of messages. It checks each
// row by itself and finds duplicate rows. application/directory stores the rows.
package pickupcsv
