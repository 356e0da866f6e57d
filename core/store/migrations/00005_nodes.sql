-- +goose Up
-- Which node receives and sends for an account; of stores that nodes share.

CREATE TABLE account_lease (
  channel TEXT NOT NULL,
  account TEXT NOT NULL,
  node    TEXT NOT NULL,
  PRIMARY KEY (channel, account)
);
