// Package pickupcsv reads the tables of pickup locations that operators import, by a
// command or by the operations API: one reader with one set of messages for both. It
// checks each row by itself and finds rows that are there twice;
// application/directory stores the rows.
package pickupcsv
