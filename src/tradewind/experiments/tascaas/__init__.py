"""TaScaaS with RUPER-LB: very long divisible jobs over slots of three infrastructures."""
