"""A service dies of an error seconds after each start, and a bare supervisor starts it again; its
client's health checks fail in between. Twin: many short jobs that end well."""
