package pages

// Libraries are the files of others, with their checksums.
var Libraries = libraries
