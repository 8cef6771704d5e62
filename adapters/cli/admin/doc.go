// Package admin has the commands of operators: customers, applications, keys,
// pickup locations, deliveries, webhooks, the schema and the settings.
//
// They work on the database through the use cases of the servers, which an Office
// holds; the program makes it for them. What they print for scripts are the types
// named View, and the records of the API.
package admin
