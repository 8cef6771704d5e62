// Package admin implements the commands of operators: customers, applications, keys, pickup
// locations, deliveries, webhooks, the schema and the settings.
//
// They work on the database through the same use cases as the servers: UseCases holds them, and
// the program fills it in. For scripts they print the types named View, and the records of the
// API.
package admin
